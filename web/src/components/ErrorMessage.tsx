import { useI18n } from "@/i18n";
import { describeError, useServerTexts } from "@/serverTexts/serverTexts";

/** A failed request: what happened, what to do next, and a button to try again. */
export function ErrorMessage({ error, retry }: { error: unknown; retry?: () => void }) {
  const { t } = useI18n();
  const texts = useServerTexts();
  if (!error) return null;
  const { message, hint, original } = describeError(error, texts);
  return (
    <div className="card problem" role="alert">
      <p>
        <strong>{message}</strong>
      </p>
      {hint && <p className="dim">{hint}</p>}
      {original && (
        <p className="dim" lang="en">
          {original}
        </p>
      )}
      {retry && (
        <button className="button" onClick={retry}>
          {t("action.retry")}
        </button>
      )}
    </div>
  );
}
