import { useEffect, useState } from "react";
import { getJson, isAbortError, sendJson } from "@/api/http";
import type { Session } from "@/api/types";
import { copyText } from "@/components/clipboard";
import { Dialog } from "@/components/Dialog";
import { ErrorMessage } from "@/components/ErrorMessage";
import { showToast } from "@/components/Toasts";
import { formatNumber } from "@/i18n";
import { useMessages } from "@/sessions/messages";
import css from "./ContinueDialog.module.css";

interface Program {
  name: string;
  label: string;
}

interface Plan {
  id: string;
  folder: string;
  files: string[];
  load: string[];
  resume: string[];
  messages: number;
}

const API = "/api/plugins/continuation";
const quote = (word: string) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);

/** Continues a session in another program: shows what is written there, writes it, and gives the command. */
export function ContinueDialog({ session, close }: { session: Session; close: () => void }) {
  const { t, language } = useMessages();
  const [programs, setPrograms] = useState<Program[]>([]);
  const [program, setProgram] = useState("");
  const [folder, setFolder] = useState(session.cwd ?? "");
  const [plan, setPlan] = useState<Plan | null>(null);
  const [isWritten, setIsWritten] = useState(false);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    const controller = new AbortController();
    getJson<Program[]>(`${API}/programs`, controller.signal).then(
      (found) => {
        setPrograms(found);
        setProgram(found[0]?.name ?? "");
      },
      (problem: unknown) => {
        if (!isAbortError(problem)) setError(problem);
      },
    );
    return () => controller.abort();
  }, []);
  useEffect(() => {
    if (!program) return;
    let isCurrent = true;
    setPlan(null);
    setError(null);
    sendJson<Plan>("POST", `${API}/sessions/${encodeURIComponent(session.id)}/plans`, { program, folder }).then(
      (found) => isCurrent && setPlan(found),
      (problem: unknown) => isCurrent && setError(problem),
    );
    return () => {
      isCurrent = false;
    };
  }, [program, folder, session.id]);
  const write = (shown: Plan) => {
    setError(null);
    sendJson<Plan>("POST", `${API}/plans/${encodeURIComponent(shown.id)}`, {}).then(() => setIsWritten(true), setError);
  };
  const command = plan ? `cd ${quote(plan.folder)} && ${plan.resume.map(quote).join(" ")}` : "";
  return (
    <Dialog label={t("sessions.continue")} close={close} closeLabel={t("action.close")}>
      <h2>{t("sessions.continue")}</h2>
      {!isWritten && (
        <div className="row">
          <select
            aria-label={t("sessions.continue.program")}
            value={program}
            onChange={(event) => setProgram(event.target.value)}
          >
            {programs.map((one) => (
              <option key={one.name} value={one.name}>
                {one.label}
              </option>
            ))}
          </select>
          <input
            className="grow"
            aria-label={t("sessions.continue.folder")}
            placeholder={t("sessions.continue.folder")}
            defaultValue={folder}
            onBlur={(event) => setFolder(event.target.value.trim())}
          />
        </div>
      )}
      {plan && !isWritten && (
        <>
          <p>{t("sessions.continue.shows", { n: formatNumber(plan.messages, language) })}</p>
          <pre className={css.lines}>{plan.files.join("\n")}</pre>
          {plan.load.length > 0 && <p>{t("sessions.continue.loads", { command: plan.load.join(" ") })}</p>}
          <div className="row">
            <button className="button primary" onClick={() => write(plan)}>
              {t("sessions.continue.write")}
            </button>
          </div>
        </>
      )}
      {isWritten && (
        <>
          <p>{t("sessions.continue.done")}</p>
          <pre className={css.lines}>{command}</pre>
          <p className="dim">{t("sessions.continue.back")}</p>
          <div className="row">
            <button
              className="button primary"
              onClick={() => void copyText(command).then(() => showToast(t("sessions.continue.copied")), setError)}
            >
              {t("sessions.continue.copy")}
            </button>
          </div>
        </>
      )}
      <ErrorMessage error={error} />
    </Dialog>
  );
}
