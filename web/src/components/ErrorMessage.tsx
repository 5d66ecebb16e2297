import { ApiError } from "@/api/http";
import { useI18n } from "@/i18n";

/** A failed request: what happened, what to do next, and a button to try again. */
export function ErrorMessage({ error, retry }: { error: unknown; retry?: () => void }) {
  const { t } = useI18n();
  if (!error) return null;
  const message = error instanceof Error ? error.message : String(error);
  return (
    <div className="card problem" role="alert">
      <p>
        <strong>{message}</strong>
      </p>
      {error instanceof ApiError && error.hint && <p className="dim">{error.hint}</p>}
      {retry && (
        <button className="button" onClick={retry}>
          {t("action.retry")}
        </button>
      )}
    </div>
  );
}
