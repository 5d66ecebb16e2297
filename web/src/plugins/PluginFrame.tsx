import { useEffect, useMemo, useRef, useState } from "react";
import { useMessages } from "@/plugins/messages";
import { PluginBridge } from "@/plugins/PluginBridge";
import type { PluginPage } from "@/plugins/pluginList";
import css from "./plugins.module.css";

const PING_MS = 4000; // between two checks that the frame still responds
type FrameState = "loading" | "ready" | "silent" | "flooding";
const getCurrentTheme = () => document.documentElement.dataset["theme"] ?? "light";

/** A plugin's page in a sandboxed frame with an opaque origin, and a notice when it fails, hangs or floods the bridge. */
export function PluginFrame({ plugin }: { plugin: PluginPage }) {
  const { t, language } = useMessages();
  const frame = useRef<HTMLIFrameElement>(null);
  const bridge = useRef<PluginBridge | null>(null);
  const currentLanguage = useRef(language);
  const [state, setState] = useState<FrameState>("loading");
  const [failure, setFailure] = useState("");
  const [toast, setToast] = useState("");
  const [attempt, setAttempt] = useState(0);
  const url = useMemo(() => `${plugin.frame}#${getCurrentTheme()}`, [plugin.frame, attempt]);
  currentLanguage.current = language;

  useEffect(() => {
    let lastAliveAt = performance.now();
    const markAlive = () => {
      lastAliveAt = performance.now();
      setState("ready");
    };
    const connected = new PluginBridge(
      frame.current!,
      plugin,
      { ready: markAlive, alive: markAlive, failed: setFailure, toast: setToast, flooding: () => setState("flooding") },
      () => ({ theme: getCurrentTheme(), language: currentLanguage.current }),
    );
    bridge.current = connected;
    const pinger = setInterval(() => {
      if (document.hidden) lastAliveAt = performance.now();
      else if (performance.now() - lastAliveAt > 2 * PING_MS) setState("silent");
      connected.send({ ping: true });
    }, PING_MS);
    const themeObserver = new MutationObserver(() => connected.send({ changed: "theme", value: getCurrentTheme() }));
    themeObserver.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => {
      clearInterval(pinger);
      themeObserver.disconnect();
      connected.close();
    };
  }, [plugin, attempt]);
  useEffect(() => bridge.current?.send({ changed: "language", value: language }), [language]);
  useEffect(() => {
    if (!toast) return;
    const timer = setTimeout(() => setToast(""), 4000);
    return () => clearTimeout(timer);
  }, [toast]);

  const reload = () => {
    setState("loading");
    setFailure("");
    setAttempt((n) => n + 1);
  };
  const problem =
    state === "silent"
      ? t("plugins.unresponsive")
      : state === "flooding"
        ? t("plugins.flooding")
        : failure && t("plugins.failed", { why: failure });
  return (
    <div className={css.pluginPage} aria-busy={state === "loading"}>
      {problem && (
        <div className="card problem" role="alert">
          <p>
            <strong>{plugin.label}</strong>: {problem}
          </p>
          <button className="button" onClick={reload}>
            {t("plugins.reload")}
          </button>
        </div>
      )}
      {state !== "flooding" && (
        <iframe
          key={attempt}
          ref={frame}
          className={css.pluginFrame}
          title={plugin.label}
          src={url}
          sandbox="allow-scripts"
          allow=""
          referrerPolicy="no-referrer"
        />
      )}
      <div className={css.toast} role="status" data-shown={toast !== ""}>
        {toast}
      </div>
    </div>
  );
}
