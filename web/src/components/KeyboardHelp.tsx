import { Dialog } from "@/components/Dialog";
import { useI18n, type MessageKey } from "@/i18n";

const SHORTCUTS: Array<[string, MessageKey]> = [
  ["Ctrl K", "help.palette"],
  ["/", "help.search"],
  ["?", "help.help"],
  ["Enter", "help.send"],
  ["Shift Enter", "help.newline"],
  ["Esc", "help.close"],
];

export function KeyboardHelp({ close }: { close: () => void }) {
  const { t } = useI18n();
  return (
    <Dialog label={t("help.title")} close={close}>
      <h2>{t("help.title")}</h2>
      <dl className="shortcut-list">
        {SHORTCUTS.map(([key, description]) => (
          <div key={key}>
            <dt><kbd>{key}</kbd></dt>
            <dd>{t(description)}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
