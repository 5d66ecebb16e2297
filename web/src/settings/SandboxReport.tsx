import { useEffect, useState } from "react";
import { getJson, isAbortError } from "@/api/http";
import { ErrorMessage } from "@/components/ErrorMessage";
import { useSentences } from "@/serverTexts/serverTexts";
import { useMessages } from "@/settings/messages";

interface Sandbox {
  mechanism: string;
  complete: boolean;
  missing: string[];
  guarantees: { what: string; by: string }[];
}

/** What this machine enforces for programs that an agent starts; the same facts as in `sojourn doctor`. */
export function SandboxReport() {
  const { t } = useMessages();
  const translate = useSentences();
  const [sandbox, setSandbox] = useState<Sandbox | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    const controller = new AbortController();
    getJson<Sandbox>("/api/sandbox", controller.signal).then(setSandbox, (problem) => {
      if (!isAbortError(problem)) setError(problem);
    });
    return () => controller.abort();
  }, []);
  return (
    <section className="card">
      <h2 id="sandbox">{t("sandbox.title")}</h2>
      <ErrorMessage error={error} />
      {sandbox && (
        <>
          <p>
            <span className={sandbox.complete ? "pill good" : "pill bad"}>
              {t(sandbox.complete ? "sandbox.complete" : "sandbox.incomplete")}
            </span>{" "}
            {t(sandbox.complete ? "sandbox.free" : "sandbox.asked")}
          </p>
          {sandbox.missing.map((sentence) => (
            <p key={sentence} className="problem-text">
              {translate(sentence)}
            </p>
          ))}
          <div className="scroll-x" tabIndex={0} role="region" aria-label={t("sandbox.title")}>
            <table>
              <thead>
                <tr>
                  <th>{t("sandbox.what")}</th>
                  <th>{t("sandbox.by")}</th>
                </tr>
              </thead>
              <tbody>
                {sandbox.guarantees.map((one) => (
                  <tr key={one.what}>
                    <td>{translate(one.what)}</td>
                    <td>{one.by ? one.by : <span className="pill bad">{t("sandbox.nothing")}</span>}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </section>
  );
}
