import { useState } from "react";
import { sendJson } from "@/api/http";
import { ErrorMessage } from "@/components/ErrorMessage";
import { showToast } from "@/components/Toasts";
import { useMessages } from "@/settings/messages";
import css from "./ProviderDialog.module.css";

/** A new MCP server: its name, and the command that starts it or its address. It is started once before it is kept. */
export function AddServerForm({ onAdd }: { onAdd: () => void }) {
  const { t } = useMessages();
  const [name, setName] = useState("");
  const [target, setTarget] = useState("");
  const [hasNetwork, setHasNetwork] = useState(false);
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const add = async () => {
    setIsBusy(true);
    setError(null);
    const words = target.trim().split(/\s+/);
    const body = /^https?:/.test(target.trim())
      ? { url: target.trim() }
      : { command: words[0], args: words.slice(1), network: hasNetwork };
    try {
      const { tools } = await sendJson<{ tools: string[] }>(
        "PUT",
        `/api/plugins/mcp/servers/${encodeURIComponent(name.trim())}`,
        body,
      );
      showToast(t("mcp.works", { n: tools.length }));
      setName("");
      setTarget("");
      onAdd();
    } catch (problem) {
      setError(problem);
    }
    setIsBusy(false);
  };
  return (
    <details>
      <summary>{t("mcp.add")}</summary>
      <form
        className={css.keyForm}
        onSubmit={(event) => {
          event.preventDefault();
          void add();
        }}
      >
        <label>
          {t("mcp.name")}
          <input value={name} pattern="[A-Za-z0-9_\-]{1,40}" onChange={(event) => setName(event.target.value)} />
        </label>
        <label>
          {t("mcp.target")}
          <input className="mono" value={target} onChange={(event) => setTarget(event.target.value)} />
        </label>
        <p className="row">
          <input
            id="mcp-network"
            type="checkbox"
            checked={hasNetwork}
            onChange={(event) => setHasNetwork(event.target.checked)}
          />
          <label htmlFor="mcp-network">{t("mcp.network")}</label>
        </p>
        <ErrorMessage error={error} />
        <div className="row">
          <button className="button primary" disabled={isBusy || !name.trim() || !target.trim()}>
            {isBusy ? t("mcp.starting") : t("action.add")}
          </button>
        </div>
      </form>
    </details>
  );
}
