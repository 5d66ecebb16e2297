import { useEffect, useRef, useState } from "react";
import { getJson, isAbortError, sendJson } from "@/api/http";
import type { FoundHistory } from "@/api/types";
import { uploadFile } from "@/api/upload";
import { ErrorMessage } from "@/components/ErrorMessage";
import { Icon } from "@/components/Icon";
import { countImported, isReadable, listNewHistories, type SessionCounts } from "@/histories/importedSessions";
import { useMessages } from "@/histories/messages";
import { formatNumber } from "@/i18n";
import { followLink } from "@/router";
import { getSourceLabel } from "@/sessions/sourceLabels";

interface ImportState {
  running: boolean;
  source: string;
  home: string;
  done: number;
  of: number;
  stage?: string;
  seconds_left?: number | null;
  cancelled?: boolean;
  error: string;
  hint: string;
  report: {
    found: number;
    imported: number;
    updated: number;
    unchanged: number;
    new_messages: number;
    skipped: Array<[string, string]>;
  } | null;
}

const IMPORT_API = "/api/plugins/dashboard/import";

/** The histories of other programs on this machine, and their import. */
export default function Import() {
  const { t, language } = useMessages();
  const [histories, setHistories] = useState<FoundHistory[] | null>(null);
  const [state, setState] = useState<ImportState | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    const controller = new AbortController();
    const reportFailure = (problem: unknown) => {
      if (!isAbortError(problem)) setError(problem);
    };
    getJson<FoundHistory[]>("/api/sources", controller.signal).then(setHistories, reportFailure);
    getJson<ImportState>(IMPORT_API, controller.signal).then(setState, reportFailure);
    return () => controller.abort();
  }, []);
  useEffect(() => {
    if (!state?.running) return;
    const timer = setTimeout(() => getJson<ImportState>(IMPORT_API).then(setState, setError), 500);
    return () => clearTimeout(timer);
  }, [state]);
  const [waiting, setWaiting] = useState<FoundHistory[]>([]); // to import after the running one
  const startImport = (history: FoundHistory) => {
    setError(null);
    sendJson<ImportState>("POST", IMPORT_API, { source: history.source, home: history.home }).then(setState, setError);
  };
  const [counts, setCounts] = useState<SessionCounts>({});
  useEffect(() => {
    if (!state?.running) void countImported().then(setCounts, () => undefined);
  }, [state?.running]);
  const fresh = listNewHistories(histories ?? [], counts);
  const importAll = () => {
    setWaiting(fresh.slice(1));
    if (fresh[0]) startImport(fresh[0]);
  };
  useEffect(() => {
    if (!state || state.running || !waiting.length) return;
    setWaiting(waiting.slice(1));
    if (!state.cancelled && !state.error) startImport(waiting[0]!);
  }, [state]);
  const cancel = () => {
    setWaiting([]);
    sendJson<ImportState>("DELETE", IMPORT_API).then(() => getJson<ImportState>(IMPORT_API).then(setState), setError);
  };
  return (
    <div className="page">
      <header className="page-header">
        <h1>{t("nav.import")}</h1>
        {fresh.length > 1 && (
          <button className="button primary" disabled={state?.running} onClick={importAll}>
            <Icon name="download" size={16} /> {t("import.all")}
          </button>
        )}
      </header>
      <p className="dim">{t("import.about")}</p>
      <ErrorMessage error={error} />
      {state && (state.running || state.report || state.error) && <ImportProgress state={state} cancel={cancel} />}
      {histories === null && (
        <p role="status" className="dim">
          {t("welcome.looking")}
        </p>
      )}
      {histories?.length === 0 && (
        <div className="empty-state">
          <p>{t("import.none")}</p>
          <p>{t("import.where")}</p>
        </div>
      )}
      <ul className="history-list">
        {histories?.map((history) => (
          <li key={`${history.source}:${history.home}`} className="card row">
            <div className="grow">
              <h2>
                {getSourceLabel(history.source)} {history.version && <span className="pill">{history.version}</span>}
              </h2>
              <p className="dim mono">{history.home}</p>
              {history.problem ? (
                <p className="problem-text">{history.problem}</p>
              ) : (
                <p>
                  {t("import.sessions", {
                    n: formatNumber(history.sessions, language),
                    mb: (history.bytes / 1e6).toFixed(1),
                  })}{" "}
                  {isReadable(history) && !fresh.includes(history) && (
                    <span className="pill good">
                      <Icon name="check" size={13} /> {t("import.here")}
                    </span>
                  )}
                </p>
              )}
            </div>
            <button
              className={fresh.length === 1 && fresh[0] === history ? "button primary" : "button"}
              disabled={Boolean(history.problem) || state?.running}
              onClick={() => startImport(history)}
            >
              {t(isReadable(history) && !fresh.includes(history) ? "import.again" : "import.start")}
            </button>
          </li>
        ))}
      </ul>
      <ImportFile isBusy={Boolean(state?.running)} onStart={setState} onError={setError} />
    </div>
  );
}

interface FileProps {
  isBusy: boolean;
  onStart: (state: ImportState) => void;
  onError: (error: unknown) => void;
}

/** A file that a person downloaded from another program, such as the export of a chat site. */
function ImportFile({ isBusy, onStart, onError }: FileProps) {
  const { t } = useMessages();
  const input = useRef<HTMLInputElement>(null);
  const [isSending, setIsSending] = useState(false);
  const send = async (file: File | undefined) => {
    if (!file) return;
    onError(null);
    setIsSending(true);
    try {
      onStart(
        await uploadFile<ImportState>(`${IMPORT_API}/file?name=${encodeURIComponent(file.name)}`, file, () => {}),
      );
    } catch (problem) {
      onError(problem);
    }
    setIsSending(false);
  };
  return (
    <section className="card">
      <h2>{t("import.file")}</h2>
      <p className="dim">
        {t("import.file.about")} <code>sojourn import PATH</code>
      </p>
      <input
        ref={input}
        type="file"
        hidden
        accept=".json,.jsonl,.zip"
        onChange={(event) => {
          void send(event.target.files?.[0]);
          event.target.value = "";
        }}
      />
      <button className="button" disabled={isBusy || isSending} onClick={() => input.current?.click()}>
        <Icon name="file" size={16} /> {t("import.file.choose")}
      </button>
    </section>
  );
}

function ImportProgress({ state, cancel }: { state: ImportState; cancel: () => void }) {
  const { t, language } = useMessages();
  const percent = state.of ? Math.floor((state.done / state.of) * 100) : 0;
  const { report } = state;
  return (
    <div className={state.error ? "card problem" : "card"} role="status">
      <h2>
        {state.running
          ? t("import.running", { source: getSourceLabel(state.source) })
          : state.error
            ? t("import.failed")
            : state.cancelled
              ? t("import.cancelled")
              : t("import.done", { source: getSourceLabel(state.source) })}
      </h2>
      {state.running && (
        <p className="row">
          <span className="grow">
            {state.of
              ? t("import.progress", { done: formatNumber(state.done, language), of: formatNumber(state.of, language) })
              : t("import.reading")}
            {typeof state.seconds_left === "number" && ` · ${t("import.left", { n: Math.ceil(state.seconds_left) })}`}
          </span>
          <button className="button" onClick={cancel}>
            {t("action.cancel")}
          </button>
        </p>
      )}
      {state.running && (
        <div
          className="progress-bar"
          role="progressbar"
          aria-label={t("nav.import")}
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={percent}
        >
          <span style={{ width: `${percent}%` }} />
        </div>
      )}
      {state.error && (
        <p>
          {state.error} <span className="dim">{state.hint}</span>
        </p>
      )}
      {report && (
        <p>
          {t("import.report", {
            found: formatNumber(report.found, language),
            imported: formatNumber(report.imported, language),
            unchanged: formatNumber(report.unchanged + report.updated, language),
            skipped: formatNumber(report.skipped.length, language),
          })}{" "}
          <a href={`/sessions?program=${encodeURIComponent(state.source)}`} onClick={followLink}>
            {t("nav.sessions")}
          </a>
        </p>
      )}
      {report && report.skipped.length > 0 && (
        <details>
          <summary>{t("import.skipped")}</summary>
          <ul>
            {report.skipped.slice(0, 100).map(([id, why]) => (
              <li key={id}>
                <code>{id}</code> {why}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}
