import { type MessageKey, useMessages } from "@/app/messages";
import { Dialog } from "@/components/Dialog";
import css from "./KeyboardHelp.module.css";

const SHORTCUTS: Array<[string, MessageKey]> = [
  ["Ctrl K", "help.palette"],
  ["/", "help.search"],
  ["n", "help.newchat"],
  ["x", "help.select"],
  ["?", "help.help"],
  ["a", "help.approve"],
  ["d", "help.deny"],
  ["Enter", "help.send"],
  ["Shift Enter", "help.newline"],
  ["Esc", "help.close"],
];

export function KeyboardHelp({ close }: { close: () => void }) {
  const { t } = useMessages();
  return (
    <Dialog label={t("help.title")} close={close}>
      <h2>{t("help.title")}</h2>
      <dl className={css.shortcutList}>
        {SHORTCUTS.map(([key, description]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{t(description)}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
