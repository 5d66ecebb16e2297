import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { getJson, sendJson } from "@/api/http";
import { queryClient } from "@/api/query";
import { ErrorMessage } from "@/components/ErrorMessage";
import { showToast } from "@/components/Toasts";
import { AddServerForm } from "@/settings/AddServerForm";
import { AgentForm } from "@/settings/AgentForm";
import { useMessages } from "@/settings/messages";

export interface McpServer {
  name: string;
  command: string;
  args: string[];
  url: string;
  tools: string[] | null;
  problem: string;
  hint: string;
}

export const MCP_API = "/api/plugins/mcp/servers";

/** Tool servers (MCP) and another agent (ACP): added, tested and removed; in force with the next turn. */
export function ToolsSection() {
  const { t } = useMessages();
  const { data, error, refetch } = useQuery(
    { queryKey: ["mcp"], queryFn: ({ signal }) => getJson<McpServer[]>(MCP_API, signal) },
    queryClient,
  );
  return (
    <>
      <section className="card" aria-labelledby="mcp-heading">
        <h2 id="mcp-heading">{t("mcp.title")}</h2>
        <p className="dim">{t("mcp.about")}</p>
        <ErrorMessage error={error} />
        {data?.length === 0 && <p className="dim">{t("mcp.none")}</p>}
        <ul className="item-list">
          {data?.map((server) => (
            <ServerRow key={server.name} server={server} onChange={() => void refetch()} />
          ))}
        </ul>
        <AddServerForm onAdd={() => void refetch()} />
      </section>
      <AgentForm />
    </>
  );
}

function ServerRow({ server, onChange }: { server: McpServer; onChange: () => void }) {
  const { t } = useMessages();
  const [error, setError] = useState<unknown>(null);
  const url = `${MCP_API}/${encodeURIComponent(server.name)}`;
  const test = () => {
    setError(null);
    sendJson<{ tools: string[] }>("POST", `${url}/test`).then(({ tools }) => {
      showToast(t("mcp.works", { n: tools.length }));
      onChange();
    }, setError);
  };
  return (
    <li data-server={server.name}>
      <div className="grow">
        <p className="row">
          <strong>{server.name}</strong>
          <span className={server.problem ? "pill bad" : "pill good"}>
            {server.problem ? t("mcp.failing") : t("mcp.configured")}
          </span>
        </p>
        <p className="dim mono">{server.url || [server.command, ...server.args].join(" ")}</p>
        {server.problem && (
          <p className="problem-text">
            {server.problem} <span className="dim">{server.hint}</span>
          </p>
        )}
        {server.tools && <p className="dim">{server.tools.join(", ")}</p>}
        <ErrorMessage error={error} />
      </div>
      <button className="button" onClick={test}>
        {t("models.test")}
      </button>
      <button className="button danger" onClick={() => void sendJson("DELETE", url).then(onChange, setError)}>
        {t("action.remove")}
      </button>
    </li>
  );
}
