import { useState } from "react";
import { Dialog } from "@/components/Dialog";
import { ErrorMessage } from "@/components/ErrorMessage";
import { useMessages } from "@/settings/messages";
import { type ModelTest, modelsApi, type Provider, type ProviderPage } from "@/settings/modelsApi";
import css from "./ProviderDialog.module.css";

interface Props {
  provider: Provider;
  close: () => void;
  store: (page: ProviderPage) => void;
  choose: (provider: string, model: string) => Promise<void>;
}

/** One provider: its key first, then its models, a test, and the choice. */
export function ProviderDialog({ provider, close, store, choose }: Props) {
  const { t } = useMessages();
  const [key, setKey] = useState("");
  const [address, setAddress] = useState(provider.base_url);
  const [models, setModels] = useState<string[] | null>(null);
  const [missing, setMissing] = useState(provider.missing_packages);
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const run = async (work: () => Promise<void>) => {
    setIsBusy(true);
    setError(null);
    try {
      await work();
    } catch (problem) {
      setError(problem);
    }
    setIsBusy(false);
  };
  const connect = () =>
    run(async () => {
      const changed = {
        ...(key ? { key } : {}),
        ...(address !== provider.base_url || !provider.needs_key ? { base_url: address } : {}),
      };
      if (Object.keys(changed).length) store(await modelsApi.saveProvider(provider.name, changed));
      setModels(await modelsApi.listModels(provider.name));
      setKey("");
    });
  const install = () =>
    run(async () => {
      await modelsApi.installPackages(provider.name);
      setMissing([]);
    });
  const remove = () =>
    run(async () => {
      store(await modelsApi.removeProvider(provider.name));
      close();
    });
  const canConnect = provider.needs_key ? key !== "" || provider.has_key : address.trim() !== "";
  const addressBox = (
    <input
      id="server-address"
      className="mono"
      aria-label={t("models.address")}
      placeholder="http://127.0.0.1:8000/v1"
      value={address}
      onChange={(event) => setAddress(event.target.value)}
    />
  );
  const addressField = provider.needs_key ? (
    <details>
      <summary>{t("models.address")}</summary>
      {addressBox}
    </details>
  ) : (
    <div className={css.addressField}>
      <label htmlFor="server-address">{t("models.address")}</label>
      {addressBox}
    </div>
  );
  return (
    <Dialog label={provider.label} close={close} closeLabel={t("action.close")}>
      <h2>{provider.label}</h2>
      {missing.length > 0 ? (
        <>
          <p>{t("models.packages", { names: missing.join(", ") })}</p>
          <div className="row">
            <button className="button primary" disabled={isBusy} onClick={() => void install()}>
              {t(isBusy ? "models.installing" : "models.install")}
            </button>
          </div>
        </>
      ) : models ? (
        <ModelChoice provider={provider} models={models} choose={(model) => choose(provider.name, model)} />
      ) : (
        <form
          className={css.keyForm}
          onSubmit={(event) => {
            event.preventDefault();
            void connect();
          }}
        >
          {!provider.needs_key && addressField}
          <label>
            {t(provider.needs_key ? "models.key" : "models.key.optional")}
            <input
              type="password"
              autoComplete="off"
              value={key}
              placeholder={provider.has_key ? t("models.key.saved") : ""}
              onChange={(event) => setKey(event.target.value)}
            />
          </label>
          <p className="dim">{t("models.key.hint")}</p>
          {provider.needs_key && addressField}
          <div className="row">
            <button className="button primary" disabled={isBusy || !canConnect}>
              {isBusy ? t("models.connecting") : t("models.connect")}
            </button>
            {provider.is_saved && (
              <button type="button" className="button danger" disabled={isBusy} onClick={() => void remove()}>
                {t("action.remove")}
              </button>
            )}
          </div>
        </form>
      )}
      <ErrorMessage error={error} />
    </Dialog>
  );
}

function ModelChoice({
  provider,
  models,
  choose,
}: {
  provider: Provider;
  models: string[];
  choose: (model: string) => Promise<void>;
}) {
  const { t } = useMessages();
  const [model, setModel] = useState(models[0] ?? "");
  const [result, setResult] = useState<ModelTest | "running" | null>(null);
  const [error, setError] = useState<unknown>(null);
  const test = () => {
    setResult("running");
    setError(null);
    modelsApi.testModel(provider.name, model).then(setResult, (problem: unknown) => {
      setError(problem);
      setResult(null);
    });
  };
  return (
    <div className={css.keyForm}>
      <label>
        {t("models.model")}
        <select
          value={model}
          onChange={(event) => {
            setModel(event.target.value);
            setResult(null);
          }}
        >
          {models.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      {result === "running" && (
        <p className="dim" role="status">
          {t("models.testing")}
        </p>
      )}
      {result && result !== "running" && <TestResult result={result} />}
      <ErrorMessage error={error} />
      <div className="row">
        <button className="button primary" onClick={() => void choose(model)}>
          {t("models.choose")}
        </button>
        <button className="button" disabled={result === "running"} onClick={test}>
          {t("models.test")}
        </button>
      </div>
    </div>
  );
}

function TestResult({ result }: { result: ModelTest }) {
  const { t } = useMessages();
  if (!result.ok)
    return (
      <p className="problem-text" role="alert">
        {result.detail} <span className="dim">{result.hint}</span>
      </p>
    );
  const cost = result.cost_usd === null ? t("models.test.nocost") : `$${result.cost_usd.toFixed(5)}`;
  return (
    <p role="status">
      <span className="pill good">{t("models.test.ok")}</span>{" "}
      {t("models.test.facts", { s: (result.seconds ?? 0).toFixed(1), cost })}
      <span className="dim"> “{result.text.slice(0, 120)}”</span>
    </p>
  );
}
