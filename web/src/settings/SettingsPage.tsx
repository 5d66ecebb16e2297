import { useEffect, useState } from "react";
import { getJson, isAbortError, sendJson } from "@/api/http";
import { forgetPageKey } from "@/api/pageKey";
import type { StoreStats } from "@/api/types";
import { LastingApprovals } from "@/approvals/LastingApprovals";
import { ErrorMessage } from "@/components/ErrorMessage";
import { formatNumber } from "@/i18n";
import { PluginSwitches } from "@/plugins/PluginSwitches";
import { useMessages } from "@/settings/messages";
import { SandboxReport } from "@/settings/SandboxReport";
import { SignedInBrowsers } from "@/settings/SignedInBrowsers";

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
  const { t, language } = useMessages();
  const [health, setHealth] = useState<Health | null>(null);
  const [stats, setStats] = useState<StoreStats | null>(null);
  const [settings, setSettings] = useState<Setting[]>([]);
  const [plugins, setPlugins] = useState<Plugin[]>([]);
  const [error, setError] = useState<unknown>(null);
  const [text, setText] = useState("");
  useEffect(() => {
    const controller = new AbortController();
    const reportFailure = (problem: unknown) => {
      if (!isAbortError(problem)) setError(problem);
    };
    getJson<Health>("/api/health", controller.signal).then(setHealth, reportFailure);
    getJson<StoreStats>("/api/stats", controller.signal).then(setStats, reportFailure);
    getJson<Setting[]>("/api/plugins/dashboard/settings", controller.signal).then(setSettings, reportFailure);
    getJson<Plugin[]>("/api/plugins", controller.signal).then(setPlugins, reportFailure);
    return () => controller.abort();
  }, []);
  const signOut = () =>
    sendJson("POST", "/api/leave").then(() => {
      forgetPageKey();
      location.reload();
    }, setError);
  const shown = settings.filter((setting) =>
    `${setting.name} ${setting.meaning} ${setting.variable}`.toLowerCase().includes(text.toLowerCase()),
  );
  return (
    <div className="page">
      <header className="page-header">
        <h1>{t("nav.settings")}</h1>
        <button className="button" onClick={() => void signOut()}>
          {t("settings.signout")}
        </button>
      </header>
      <ErrorMessage error={error} />
      <div className="two-columns">
        <section className="card">
          <h2>{t("settings.health")}</h2>
          {health && (
            <dl className="detail-list">
              <div>
                <dt>{t("settings.state")}</dt>
                <dd>
                  <span className={health.state === "healthy" ? "pill good" : "pill bad"}>{health.state}</span>{" "}
                  {health.error} <span className="dim">{health.hint}</span>
                </dd>
              </div>
              <div>
                <dt>{t("settings.store")}</dt>
                <dd className="mono">{health.store}</dd>
              </div>
              <div>
                <dt>{t("settings.version")}</dt>
                <dd>{health.version}</dd>
              </div>
              <div>
                <dt>{t("settings.pid")}</dt>
                <dd>{health.pid}</dd>
              </div>
            </dl>
          )}
        </section>
        <section className="card">
          <h2>{t("settings.statistics")}</h2>
          {stats && (
            <dl className="detail-list">
              <div>
                <dt>{t("nav.sessions")}</dt>
                <dd>{formatNumber(stats.sessions, language)}</dd>
              </div>
              <div>
                <dt>{t("settings.messages")}</dt>
                <dd>{formatNumber(stats.messages, language)}</dd>
              </div>
              <div>
                <dt>{t("settings.events")}</dt>
                <dd>{formatNumber(stats.events, language)}</dd>
              </div>
              <div>
                <dt>{t("settings.size")}</dt>
                <dd>{(stats.bytes / 1e6).toFixed(1)} MB</dd>
              </div>
            </dl>
          )}
        </section>
      </div>
      <SandboxReport />
      <LastingApprovals />
      <SignedInBrowsers />
      <PluginSwitches />
      <section className="card">
        <h2>{t("settings.plugins")}</h2>
        <div className="scroll-x" tabIndex={0} role="region" aria-label={t("settings.plugins")}>
          <table>
            <tbody>
              {plugins.map((plugin) => (
                <tr key={plugin.name}>
                  <td>
                    <strong>{plugin.name}</strong>
                  </td>
                  <td>
                    {plugin.summary}
                    {plugin.problem && <p className="problem-text">{plugin.problem}</p>}
                  </td>
                  <td className="number">
                    <span className={plugin.problem ? "pill bad" : "pill good"}>
                      {plugin.problem ? t("settings.failed") : t("settings.loaded")}
                    </span>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </section>
      <section className="card">
        <div className="row">
          <h2 className="grow">{t("settings.all")}</h2>
          <input
            data-search
            type="search"
            placeholder={t("settings.search")}
            aria-label={t("settings.search")}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        </div>
        <p className="dim">
          {t("settings.change")} <code>sojourn config set</code>
        </p>
        <div className="scroll-x" tabIndex={0} role="region" aria-label={t("settings.all")}>
          <table>
            <thead>
              <tr>
                <th>{t("settings.name")}</th>
                <th>{t("settings.value")}</th>
                <th>{t("settings.origin")}</th>
                <th>{t("settings.description")}</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((setting) => (
                <tr key={setting.name}>
                  <td className="mono">{setting.name}</td>
                  <td className="mono">{String(setting.value ?? "")}</td>
                  <td>
                    <span className="pill">{setting.origin}</span>
                  </td>
                  <td className="dim">{setting.meaning}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </section>
    </div>
  );
}
