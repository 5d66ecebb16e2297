import { Dialog } from "@/components/Dialog";
import { useWords, type Key } from "@/i18n";

const KEYS: Array<[string, Key]> = [
  ["Ctrl K", "help.palette"],
  ["/", "help.search"],
  ["?", "help.help"],
  ["Enter", "help.send"],
  ["Shift Enter", "help.line"],
  ["Esc", "help.close"],
];

export function Help({ close }: { close: () => void }) {
  const { t } = useWords();
  return (
    <Dialog label={t("help.title")} close={close}>
      <h2>{t("help.title")}</h2>
      <dl className="keys">
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt><kbd>{key}</kbd></dt>
            <dd>{t(what)}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
