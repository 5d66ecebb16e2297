import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { queryClient } from "@/api/query";
import { refreshRuntimes } from "@/chat/useRuntimes";
import { ErrorMessage } from "@/components/ErrorMessage";
import { Icon } from "@/components/Icon";
import { showToast } from "@/components/Toasts";
import { followLink } from "@/router";
import { useMessages } from "@/settings/messages";
import { type LocalServer, modelsApi, type Provider, type ProviderPage } from "@/settings/modelsApi";
import { ProviderDialog } from "@/settings/ProviderDialog";
import css from "./ModelsSection.module.css";

const PROVIDERS_KEY = ["models", "providers"];

const OTHER_SERVER: Provider = {
  name: "compatible", // what the server calls a provider that it knows by its address alone
  label: "",
  base_url: "",
  needs_key: false,
  has_key: false,
  is_saved: false,
  is_default: false,
  missing_packages: [],
};

/** Connect a model: a server found on this machine with one click, or a provider with its key. In force at once. */
export function ModelsSection() {
  const { t } = useMessages();
  const { data, error } = useQuery(
    { queryKey: PROVIDERS_KEY, queryFn: ({ signal }) => modelsApi.listProviders(signal) },
    queryClient,
  );
  const [open, setOpen] = useState<Provider | null>(null);
  const [failed, setFailed] = useState<unknown>(null);
  const store = (page: ProviderPage) => {
    queryClient.setQueryData(PROVIDERS_KEY, page);
    refreshRuntimes();
  };
  const choose = async (provider: string, model: string) => {
    setFailed(null);
    try {
      store(await modelsApi.setDefault(provider, model));
      showToast(t("models.chosen", { model: model || provider }));
      setOpen(null);
    } catch (problem) {
      setFailed(problem);
    }
  };
  const known = data?.providers ?? [];
  const isOtherKnown = known.some((provider) => provider.name === OTHER_SERVER.name);
  const providers = (data && !isOtherKnown ? [...known, OTHER_SERVER] : known).map((provider) =>
    provider.name === OTHER_SERVER.name ? { ...provider, label: t("models.other") } : provider,
  );
  const current = providers.find((provider) => provider.is_default);
  return (
    <>
      <section className="card" aria-labelledby="models-heading">
        <h2 id="models-heading">{t("models.title")}</h2>
        {data?.default ? (
          <p className={css.current}>
            <span className="pill good">{t("models.connected")}</span>{" "}
            <strong>{data.default.model || t("models.first")}</strong>
            <span className="dim">{current?.label ?? data.default.provider}</span>
            <a className="button primary" href="/chat/new" onClick={followLink}>
              <Icon name="chat" size={16} /> {t("models.chat")}
            </a>
          </p>
        ) : (
          <p className="dim" role="status">
            {t(data ? "models.none" : "loading")}
          </p>
        )}
        <ErrorMessage error={failed ?? error} />
      </section>
      <LocalServers choose={choose} />
      <section aria-labelledby="providers-heading">
        <h2 id="providers-heading">{t("models.providers")}</h2>
        <ul className={css.providers}>
          {providers.map((provider) => (
            <li key={provider.name}>
              <button className={css.provider} onClick={() => setOpen(provider)}>
                <strong>{provider.label}</strong>
                <ProviderState provider={provider} />
              </button>
            </li>
          ))}
        </ul>
      </section>
      {open && <ProviderDialog provider={open} close={() => setOpen(null)} store={store} choose={choose} />}
    </>
  );
}

function ProviderState({ provider }: { provider: Provider }) {
  const { t } = useMessages();
  if (provider.is_default) return <span className="pill good">{t("models.default")}</span>;
  if (provider.has_key || provider.is_saved) return <span className="pill good">{t("models.configured")}</span>;
  if (provider.name === OTHER_SERVER.name) return <span className="dim">{t("models.other.hint")}</span>;
  return <span className="dim">{t(provider.needs_key ? "models.needskey" : "models.nokey")}</span>;
}

function LocalServers({ choose }: { choose: (provider: string, model: string) => Promise<void> }) {
  const { t } = useMessages();
  const { data } = useQuery(
    { queryKey: ["models", "local"], queryFn: ({ signal }) => modelsApi.findLocal(signal) },
    queryClient,
  );
  const use = async (server: LocalServer, model: string) => {
    await modelsApi.saveProvider(server.provider, { base_url: server.base_url });
    await choose(server.provider, model);
  };
  if (!data?.length) return null;
  return (
    <section className="card" aria-labelledby="local-heading">
      <h2 id="local-heading">{t("models.local")}</h2>
      <ul className="item-list">
        {data.map((server) => (
          <li key={server.base_url}>
            <div className="grow">
              <p>
                <strong>{server.label}</strong> <span className="dim mono">{server.base_url}</span>
              </p>
              <p className="dim">{server.models.slice(0, 6).join(", ")}</p>
            </div>
            <button
              className="button primary"
              disabled={!server.models.length}
              onClick={() => void use(server, server.models[0]!)}
            >
              {t("models.use", { model: server.models[0] ?? "" })}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
