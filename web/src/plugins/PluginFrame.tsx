import { useEffect, useMemo, useRef, useState } from "react";
import { useWords } from "@/i18n";
import { Bridge } from "@/plugins/bridge";
import type { PluginPage } from "@/plugins/listing";

const BEAT = 4000; // how often we listen whether it still answers
type Mood = "loading" | "well" | "silent" | "flooding";
const themeNow = () => document.documentElement.dataset["theme"] ?? "light";

/** A page that is not ours: in a frame with an origin of its own. Whatever it does, it does it there. */
export function PluginFrame({ plugin }: { plugin: PluginPage }) {
  const { t, language } = useWords();
  const frame = useRef<HTMLIFrameElement>(null);
  const bridge = useRef<Bridge | null>(null);
  const speaks = useRef(language);
  const [mood, setMood] = useState<Mood>("loading");
  const [stumbled, setStumbled] = useState("");
  const [toast, setToast] = useState("");
  const [attempt, setAttempt] = useState(0);
  const address = useMemo(() => `${plugin.frame}#${themeNow()}`, [plugin.frame, attempt]);
  speaks.current = language;

  useEffect(() => {
    let heardAt = performance.now();
    const alive = () => { heardAt = performance.now(); setMood("well"); };
    const made = new Bridge(
      frame.current!, plugin,
      { ready: alive, alive, stumbled: setStumbled, toast: setToast, flooding: () => setMood("flooding") },
      () => ({ theme: themeNow(), language: speaks.current }),
    );
    bridge.current = made;
    const beat = setInterval(() => {
      if (document.hidden) heardAt = performance.now();
      else if (performance.now() - heardAt > 2 * BEAT) setMood("silent");
      made.say({ ping: true });
    }, BEAT);
    const themes = new MutationObserver(() => made.say({ changed: "theme", value: themeNow() }));
    themes.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => {
      clearInterval(beat);
      themes.disconnect();
      made.close();
    };
  }, [plugin, attempt]);
  useEffect(() => bridge.current?.say({ changed: "language", value: language }), [language]);
  useEffect(() => {
    if (!toast) return;
    const timer = setTimeout(() => setToast(""), 4000);
    return () => clearTimeout(timer);
  }, [toast]);

  const again = () => {
    setMood("loading");
    setStumbled("");
    setAttempt((n) => n + 1);
  };
  const trouble = mood === "silent" ? t("plugins.silent") : mood === "flooding" ? t("plugins.flooding") : stumbled && t("plugins.stumbled", { why: stumbled });
  return (
    <div className="plugin-page" aria-busy={mood === "loading"}>
      {trouble && (
        <div className="card problem" role="alert">
          <p><strong>{plugin.label}</strong>: {trouble}</p>
          <button className="button" onClick={again}>{t("plugins.reload")}</button>
        </div>
      )}
      {mood !== "flooding" && <iframe key={attempt} ref={frame} className="plugin-frame" title={plugin.label} src={address} sandbox="allow-scripts" allow="" referrerPolicy="no-referrer" />}
      <div className="toast" role="status" data-shown={toast !== ""}>{toast}</div>
    </div>
  );
}
