import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { getJson, sendJson } from "@/api/http";
import { queryClient } from "@/api/query";
import { refreshRuntimes } from "@/chat/useRuntimes";
import { ErrorMessage } from "@/components/ErrorMessage";
import { showToast } from "@/components/Toasts";
import { useMessages } from "@/settings/messages";

interface Agent {
  program: string;
  name: string;
  ok: boolean;
  detail: string;
  hint: string;
}

const AGENT_API = "/api/plugins/acp/agent";

/** Another program's agent, over the Agent Client Protocol. */
export function AgentForm() {
  const { t } = useMessages();
  const [command, setCommand] = useState("");
  const [isBusy, setIsBusy] = useState(false);
  const [failed, setFailed] = useState<unknown>(null);
  const { data, error, refetch } = useQuery(
    { queryKey: ["acp"], queryFn: ({ signal }) => getJson<Agent>(AGENT_API, signal) },
    queryClient,
  );
  const run = async (work: Promise<unknown>) => {
    setIsBusy(true);
    setFailed(null);
    try {
      await work;
      setCommand("");
      showToast(t("acp.saved"));
      refreshRuntimes();
      await refetch();
    } catch (problem) {
      setFailed(problem);
    }
    setIsBusy(false);
  };
  return (
    <section className="card" aria-labelledby="acp-heading">
      <h2 id="acp-heading">{t("acp.title")}</h2>
      <p className="dim">{t("acp.about")}</p>
      {data?.program && (
        <p className="row">
          <span className={data.ok ? "pill good" : "pill bad"}>{t(data.ok ? "mcp.configured" : "mcp.failing")}</span>
          <strong>{data.name || data.program}</strong>
          <span className="dim">{data.ok ? "" : `${data.detail} ${data.hint}`}</span>
          <button className="button danger" disabled={isBusy} onClick={() => void run(sendJson("DELETE", AGENT_API))}>
            {t("action.remove")}
          </button>
        </p>
      )}
      <form
        className="row"
        onSubmit={(event) => {
          event.preventDefault();
          void run(sendJson("PUT", AGENT_API, { command: command.trim() }));
        }}
      >
        <input
          className="grow mono"
          aria-label={t("acp.command")}
          placeholder="hermes acp"
          value={command}
          onChange={(event) => setCommand(event.target.value)}
        />
        <button className="button primary" disabled={isBusy || !command.trim()}>
          {isBusy ? t("mcp.starting") : t("acp.add")}
        </button>
      </form>
      <ErrorMessage error={failed ?? error} />
    </section>
  );
}
