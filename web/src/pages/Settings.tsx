import { useEffect, useState } from "react";
import { getJson, sendJson, wasAborted } from "@/api/http";
import type { Stats } from "@/api/types";
import { Trouble } from "@/components/Trouble";
import { count, useWords } from "@/i18n";
import { Switches } from "@/plugins/Switches";

interface Setting {
  name: string;
  value: string | number | boolean | null;
  origin: string;
  variable: string;
  meaning: string;
}
interface Health {
  state: string;
  store: string;
  error: string;
  hint: string;
  version: string;
  home: string;
  pid: number;
}
interface Plugin {
  name: string;
  summary: string;
  problem: string;
  address: string | null;
}

export default function Settings() {
  const { t, language } = useWords();
  const [health, setHealth] = useState<Health | null>(null);
  const [stats, setStats] = useState<Stats | null>(null);
  const [settings, setSettings] = useState<Setting[]>([]);
  const [plugins, setPlugins] = useState<Plugin[]>([]);
  const [error, setError] = useState<unknown>(null);
  const [text, setText] = useState("");
  useEffect(() => {
    const leaving = new AbortController();
    const failed = (problem: unknown) => { if (!wasAborted(problem)) setError(problem); };
    getJson<Health>("/api/health", leaving.signal).then(setHealth, failed);
    getJson<Stats>("/api/stats", leaving.signal).then(setStats, failed);
    getJson<Setting[]>("/api/plugins/dashboard/settings", leaving.signal).then(setSettings, failed);
    getJson<Plugin[]>("/api/plugins", leaving.signal).then(setPlugins, failed);
    return () => leaving.abort();
  }, []);
  const leave = () => sendJson("POST", "/api/leave").then(() => location.reload(), setError);
  const shown = settings.filter((one) => `${one.name} ${one.meaning} ${one.variable}`.toLowerCase().includes(text.toLowerCase()));
  return (
    <div className="page">
      <header className="page-head"><h1>{t("nav.settings")}</h1><button className="button" onClick={() => void leave()}>{t("settings.leave")}</button></header>
      <Trouble error={error} />
      <div className="two">
        <section className="card">
          <h2>{t("settings.health")}</h2>
          {health && (
            <dl className="facts">
              <div><dt>{t("settings.state")}</dt><dd><span className={health.state === "healthy" ? "pill good" : "pill bad"}>{health.state}</span> {health.error} <span className="dim">{health.hint}</span></dd></div>
              <div><dt>{t("settings.store")}</dt><dd className="mono">{health.store}</dd></div>
              <div><dt>{t("settings.version")}</dt><dd>{health.version}</dd></div>
              <div><dt>pid</dt><dd>{health.pid}</dd></div>
            </dl>
          )}
        </section>
        <section className="card">
          <h2>{t("settings.figures")}</h2>
          {stats && (
            <dl className="facts">
              <div><dt>{t("nav.sessions")}</dt><dd>{count(stats.sessions, language)}</dd></div>
              <div><dt>{t("settings.messages")}</dt><dd>{count(stats.messages, language)}</dd></div>
              <div><dt>{t("settings.events")}</dt><dd>{count(stats.events, language)}</dd></div>
              <div><dt>{t("settings.size")}</dt><dd>{(stats.bytes / 1e6).toFixed(1)} MB</dd></div>
            </dl>
          )}
        </section>
      </div>
      <Switches />
      <section className="card">
        <h2>{t("settings.plugins")}</h2>
        <div className="scroll-x" tabIndex={0} role="region" aria-label={t("settings.plugins")}>
          <table><tbody>{plugins.map((one) => <tr key={one.name}><td><strong>{one.name}</strong></td><td>{one.summary}{one.problem && <p className="problem-text">{one.problem}</p>}</td><td className="number"><span className={one.problem ? "pill bad" : "pill good"}>{one.problem ? t("settings.failed") : t("settings.on")}</span></td></tr>)}</tbody></table>
        </div>
      </section>
      <section className="card">
        <div className="row"><h2 className="grow">{t("settings.all")}</h2><input data-search type="search" placeholder={t("settings.search")} aria-label={t("settings.search")} value={text} onChange={(event) => setText(event.target.value)} /></div>
        <p className="dim">{t("settings.how")} <code>sojourn config set</code></p>
        <div className="scroll-x" tabIndex={0} role="region" aria-label={t("settings.all")}>
          <table>
            <thead><tr><th>{t("settings.name")}</th><th>{t("settings.value")}</th><th>{t("settings.origin")}</th><th>{t("settings.meaning")}</th></tr></thead>
            <tbody>{shown.map((one) => <tr key={one.name}><td className="mono">{one.name}</td><td className="mono">{String(one.value ?? "")}</td><td><span className="pill">{one.origin}</span></td><td className="dim">{one.meaning}</td></tr>)}</tbody>
          </table>
        </div>
      </section>
    </div>
  );
}
