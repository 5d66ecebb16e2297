import { memo } from "react";
import type { ToolView } from "@/chat/view";
import { Icon } from "@/components/Icon";
import { useWords } from "@/i18n";

/** A call, folded: its name, what it is about, how long it took; inside, what went in and what came out. */
export const Tool = memo(function Tool({ tool, live }: { tool: ToolView; live: boolean }) {
  const { t } = useWords();
  const running = live && tool.status === "running";
  const about = tool.preview || brief(tool.arguments);
  return (
    <details className={`tool ${running ? "running" : tool.status}`} data-tool={tool.name}>
      <summary>
        <Icon name="tool" size={15} /> <strong>{tool.name}</strong> <span className="about">{about}</span>
        <span className="timing">{running ? t("chat.tool.running") : tool.seconds !== null ? `${tool.seconds.toFixed(tool.seconds < 1 ? 2 : 1)} s` : ""}</span>
        {tool.status === "failed" && <span className="pill bad">{t("chat.tool.failed")}</span>}
      </summary>
      {tool.arguments !== undefined && <Block label={t("chat.tool.in")} text={pretty(tool.arguments)} />}
      {tool.lines.length > 0 && tool.result === null && <Block label={t("chat.tool.out")} text={tool.lines.join("\n")} />}
      {tool.error && <p className="problem-text">{tool.error}</p>}
      {tool.result !== null && <Block label={t("chat.tool.out")} text={tool.result} />}
    </details>
  );
});

function Block({ label, text }: { label: string; text: string }) {
  const { t } = useWords();
  const most = 20_000;
  return (
    <div className="tool-block">
      <p className="dim">{label} <button className="ghost" onClick={() => void navigator.clipboard.writeText(text)} aria-label={t("action.copy")}><Icon name="copy" size={13} /></button></p>
      <pre tabIndex={0}>{text.length > most ? `${text.slice(0, most)}\n… ${text.length - most}` : text}</pre>
    </div>
  );
}

const pretty = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

function brief(value: unknown): string {
  if (typeof value !== "object" || value === null) return typeof value === "string" ? value.slice(0, 120) : "";
  const first = Object.values(value).find((one) => typeof one === "string");
  return typeof first === "string" ? first.split("\n")[0]!.slice(0, 120) : "";
}
