import { useCallback, useEffect, useState } from "react";
import { getJson, isAbortError, request, sendJson } from "@/api/http";
import { Dialog } from "@/components/Dialog";
import { ErrorMessage } from "@/components/ErrorMessage";
import { formatNumber } from "@/i18n";
import { followLink } from "@/router";
import { useMessages } from "@/templates/messages";
import { DeleteDialog, RenameDialog } from "@/templates/TemplateDialogs";

interface Example {
  tool_name: string;
  arguments: Record<string, unknown>;
  result: string;
}
interface Template {
  name: string;
  task_type: string;
  description: string;
  examples: Example[];
  usage_count: number;
}
interface Suggestion {
  id: string;
  sessions: number;
  score: number;
  requests: string[];
  evidence: Array<{ session: string; row: number }>;
  home: string;
  template: Template;
}
interface UsageGroup {
  sessions: number;
  success: number | null;
  turns: number | null;
  tokens: number | null;
}
interface Benefit {
  name: string;
  with: UsageGroup;
  without: UsageGroup;
  verdict: string;
}
interface Preview {
  text: string;
  tokens: number;
  left_out: string[];
}

const TEMPLATES_API = "/api/plugins/templates";

export default function Templates() {
  const { t } = useMessages();
  const [templates, setTemplates] = useState<Template[] | null>(null);
  const [unreadable, setUnreadable] = useState<Array<{ name: string; problem: string }>>([]);
  const [suggestions, setSuggestions] = useState<Suggestion[]>([]);
  const [benefits, setBenefits] = useState<Benefit[]>([]);
  const [preview, setPreview] = useState<(Preview & { name: string }) | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const load = useCallback(async (signal?: AbortSignal) => {
    try {
      const [library, inbox, stats] = await Promise.all([
        getJson<{ templates: Template[]; unreadable: Array<{ name: string; problem: string }> }>(
          `${TEMPLATES_API}/templates`,
          signal,
        ),
        getJson<{ suggestions: Suggestion[] }>(`${TEMPLATES_API}/suggestions`, signal),
        getJson<{ templates: Benefit[] }>(`${TEMPLATES_API}/stats`, signal),
      ]);
      setTemplates(library.templates);
      setUnreadable(library.unreadable);
      setSuggestions(inbox.suggestions);
      setBenefits(stats.templates);
    } catch (problem) {
      if (!isAbortError(problem)) setError(problem);
    }
  }, []);
  useEffect(() => {
    const controller = new AbortController();
    void load(controller.signal);
    return () => controller.abort();
  }, [load]);
  const [renamed, setRenamed] = useState<string | null>(null);
  const [deleted, setDeleted] = useState<string | null>(null);
  const runAndReload = async (work: () => Promise<unknown>) => {
    setError(null);
    setIsBusy(true);
    try {
      await work();
      await load();
    } catch (problem) {
      setError(problem);
    }
    setIsBusy(false);
  };
  const getTemplateUrl = (name: string) => `${TEMPLATES_API}/templates/${encodeURIComponent(name)}`;
  const showPreview = (name: string) =>
    sendJson<Preview>("POST", `${getTemplateUrl(name)}/preview`, { messages: [], tools: [] }).then(
      (rendered) => setPreview({ ...rendered, name }),
      setError,
    );
  return (
    <div className="page">
      <header className="page-header">
        <h1>{t("nav.templates")}</h1>
        <button
          className="button"
          disabled={isBusy}
          onClick={() => void runAndReload(() => sendJson("POST", `${TEMPLATES_API}/suggestions/mine`))}
        >
          {isBusy ? t("loading") : t("templates.find")}
        </button>
      </header>
      <p className="dim">{t("templates.about")}</p>
      <ErrorMessage error={error} />
      {suggestions.length > 0 && (
        <section>
          <h2>{t("templates.suggestions")}</h2>
          {suggestions.map((suggestion) => (
            <div key={suggestion.id} className="card">
              <p>
                <strong>{suggestion.template.name}</strong>{" "}
                <span className="pill">{suggestion.template.task_type}</span>{" "}
                <span className="dim">{t("templates.seen", { n: suggestion.sessions })}</span>
              </p>
              {suggestion.requests.length > 0 && <p className="dim">“{suggestion.requests[0]}”</p>}
              <p className="mono dim">{suggestion.template.examples.map((step) => step.tool_name).join(" → ")}</p>
              <Evidence suggestion={suggestion} />
              <div className="row">
                <button
                  className="button primary"
                  disabled={isBusy}
                  onClick={() =>
                    void runAndReload(() =>
                      sendJson("POST", `${TEMPLATES_API}/suggestions/${suggestion.id}/approve`, {}),
                    )
                  }
                >
                  {t("templates.approve")}
                </button>
                <button
                  className="button"
                  disabled={isBusy}
                  onClick={() =>
                    void runAndReload(() =>
                      sendJson("POST", `${TEMPLATES_API}/suggestions/${suggestion.id}/reject`, {}),
                    )
                  }
                >
                  {t("templates.reject")}
                </button>
                <button
                  className="button danger"
                  disabled={isBusy}
                  onClick={() =>
                    void runAndReload(() =>
                      sendJson("POST", `${TEMPLATES_API}/suggestions/${suggestion.id}/reject`, { never: true }),
                    )
                  }
                >
                  {t("templates.never")}
                </button>
              </div>
            </div>
          ))}
        </section>
      )}
      <section>
        <h2>{t("templates.library")}</h2>
        {templates?.length === 0 && <p className="empty-state">{t("templates.none")}</p>}
        {unreadable.map((file) => (
          <p key={file.name} className="problem-text">
            {file.name}: {file.problem}
          </p>
        ))}
        {templates?.map((template) => (
          <div key={template.name} className="card">
            <div className="row">
              <h3 className="grow">{template.name}</h3>
              <span className="pill">{template.task_type}</span>
              <span className="dim">{t("templates.used", { n: template.usage_count })}</span>
            </div>
            <p>{template.description}</p>
            <p className="mono dim">{template.examples.map((step) => step.tool_name).join(" → ")}</p>
            <BenefitSummary benefit={benefits.find((benefit) => benefit.name === template.name)} />
            <div className="row">
              <button className="button" onClick={() => void showPreview(template.name)}>
                {t("templates.preview")}
              </button>
              <button className="button" disabled={isBusy} onClick={() => setRenamed(template.name)}>
                {t("templates.rename")}
              </button>
              <button className="button danger" disabled={isBusy} onClick={() => setDeleted(template.name)}>
                {t("sessions.delete")}
              </button>
            </div>
          </div>
        ))}
      </section>
      {renamed && (
        <RenameDialog
          name={renamed}
          close={() => setRenamed(null)}
          rename={async (name) => {
            await sendJson("PATCH", getTemplateUrl(renamed), { name });
            await load();
          }}
        />
      )}
      {deleted && (
        <DeleteDialog
          name={deleted}
          close={() => setDeleted(null)}
          remove={() => void runAndReload(() => request(getTemplateUrl(deleted), { method: "DELETE" }))}
        />
      )}
      {preview && (
        <Dialog label={t("templates.preview")} close={() => setPreview(null)} isWide closeLabel={t("action.close")}>
          <h2>{preview.name}</h2>
          <p className="dim">{t("templates.tokens", { n: preview.tokens })}</p>
          <pre className="code-block" tabIndex={0}>
            {preview.text}
          </pre>
          {preview.left_out.map((reason) => (
            <p key={reason} className="dim">
              {reason}
            </p>
          ))}
        </Dialog>
      )}
    </div>
  );
}

function BenefitSummary({ benefit }: { benefit: Benefit | undefined }) {
  const { t, language } = useMessages();
  if (!benefit) return null;
  const describeGroup = (group: UsageGroup) =>
    group.sessions === 0
      ? t("templates.group.none")
      : t("templates.group", {
          sessions: formatNumber(group.sessions, language),
          success: group.success === null ? "–" : `${Math.round(100 * group.success)}%`,
          tokens: group.tokens === null ? "–" : formatNumber(Math.round(group.tokens), language),
        });
  return (
    <p className="dim">
      {t("templates.with")} {describeGroup(benefit.with)} · {t("templates.without")} {describeGroup(benefit.without)}{" "}
      <span className="pill">{benefit.verdict}</span>
    </p>
  );
}

/** The sessions in which the steps succeeded; those of another program's home have no page to link to. */
function Evidence({ suggestion: { evidence, home } }: { suggestion: Suggestion }) {
  const { t } = useMessages();
  return (
    <p className="dim evidence">
      {t("templates.evidence")}{" "}
      {evidence.map(({ session }) =>
        home ? (
          <span key={session} className="mono">
            {session}{" "}
          </span>
        ) : (
          <a key={session} className="mono" href={`/chat/${encodeURIComponent(session)}`} onClick={followLink}>
            {session}{" "}
          </a>
        ),
      )}
      {home && <span>({home})</span>}
    </p>
  );
}
