import { ApiError } from "@/api/http";
import { useWords } from "@/i18n";

/** What went wrong and what to do next, in one place on every page. */
export function Trouble({ error, retry }: { error: unknown; retry?: () => void }) {
  const { t } = useWords();
  if (!error) return null;
  const told = error instanceof Error ? error.message : String(error);
  return (
    <div className="card problem" role="alert">
      <p><strong>{told}</strong></p>
      {error instanceof ApiError && error.hint && <p className="dim">{error.hint}</p>}
      {retry && <button className="button" onClick={retry}>{t("action.retry")}</button>}
    </div>
  );
}
