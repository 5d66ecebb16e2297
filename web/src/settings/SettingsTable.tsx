import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { getJson, sendJson } from "@/api/http";
import { queryClient } from "@/api/query";
import { ErrorMessage } from "@/components/ErrorMessage";
import { InlineCode } from "@/components/InlineCode";
import { showToast } from "@/components/Toasts";
import { type ServerTexts, useServerTexts } from "@/serverTexts/serverTexts";
import { useMessages } from "@/settings/messages";
import css from "./SettingsTable.module.css";

export interface Setting {
  name: string;
  kind: string;
  value: string | number | boolean | null;
  default: string | number | boolean | null;
  origin: string;
  variable: string;
  meaning: string;
  minimum: number | null;
  maximum: number | null;
  choices: string[];
  is_secret: boolean;
  is_live: boolean;
}

const SETTINGS_API = "/api/plugins/dashboard/settings";
const SETTINGS_KEY = ["settings"];

/** Every setting, to find and to change; a refused value is told where it was typed. */
export function SettingsTable() {
  const { t } = useMessages();
  const texts = useServerTexts();
  const [text, setText] = useState("");
  const { data, error } = useQuery(
    { queryKey: SETTINGS_KEY, queryFn: ({ signal }) => getJson<Setting[]>(SETTINGS_API, signal) },
    queryClient,
  );
  const store = (changed: Setting) =>
    queryClient.setQueryData<Setting[]>(SETTINGS_KEY, (all) =>
      all?.map((one) => (one.name === changed.name ? changed : one)),
    );
  const shown = (data ?? []).filter((one) =>
    `${one.name} ${describeSetting(one, texts).join(" ")} ${one.meaning} ${one.variable}`
      .toLowerCase()
      .includes(text.trim().toLowerCase()),
  );
  return (
    <section className="card" aria-labelledby="all-settings">
      <div className="row">
        <h2 id="all-settings" className="grow">
          {t("settings.all")}
        </h2>
        <input
          data-search
          type="search"
          placeholder={t("settings.search")}
          aria-label={t("settings.search")}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </div>
      <ErrorMessage error={error} />
      <ul className={css.settings}>
        {shown.map((setting) => (
          <SettingRow key={setting.name} setting={setting} store={store} />
        ))}
      </ul>
    </section>
  );
}

/** Its name, if it has one besides its key, and its meaning. */
const describeSetting = (setting: Setting, texts: ServerTexts | null): string[] =>
  texts?.settings[setting.name] ?? ["", setting.meaning];

function SettingRow({ setting, store }: { setting: Setting; store: (changed: Setting) => void }) {
  const { t } = useMessages();
  const [label, meaning] = describeSetting(setting, useServerTexts());
  const [error, setError] = useState<unknown>(null);
  const [pending, setPending] = useState<string | null>(null); // saved, and in force after a restart
  const url = `${SETTINGS_API}/${encodeURIComponent(setting.name)}`;
  const isForeign = setting.origin === "environment" || setting.origin === "flag";
  const apply = (work: Promise<Setting>, value: string | null) => {
    setError(null);
    work.then((changed) => {
      store(changed);
      setPending(changed.is_live ? null : value);
      showToast(t(changed.is_live ? "settings.saved" : "settings.saved.restart", { name: setting.name }));
    }, setError);
  };
  return (
    <li data-setting={setting.name}>
      <div className={css.settingText}>
        <p>
          {label && <strong>{label} </strong>}
          <code>{setting.name}</code>{" "}
          <span className={setting.origin === "default" ? "dim" : "pill"}>
            {t(`settings.origin.${toOrigin(setting.origin)}`)}
          </span>
          {pending !== null && <span className="pill">{t("settings.pending", { value: pending })}</span>}
        </p>
        <p className="dim">
          <InlineCode text={meaning ?? ""} />
        </p>
      </div>
      <div className={css.settingValue}>
        {isForeign ? (
          <>
            <code>{String(setting.value ?? "")}</code>
            <p className="dim">{t("settings.foreign", { variable: setting.variable })}</p>
          </>
        ) : (
          <SettingInput
            setting={setting}
            save={(value) => apply(sendJson<Setting>("PUT", url, { value }), String(value))}
          />
        )}
        {(setting.origin === "file" || pending !== null) && (
          <button className="ghost" onClick={() => apply(sendJson<Setting>("DELETE", url), null)}>
            {t("settings.reset")}
          </button>
        )}
        <ErrorMessage error={error} />
      </div>
    </li>
  );
}

const toOrigin = (origin: string) =>
  origin === "file" || origin === "environment" || origin === "flag" ? origin : "default";

/** The right box for a setting: a switch, a choice, a number or a text. */
function SettingInput({ setting, save }: { setting: Setting; save: (value: string | number | boolean) => void }) {
  const { t } = useMessages();
  const [text, setText] = useState(setting.is_secret ? "" : String(setting.value ?? ""));
  const isNumber = setting.kind === "number" || setting.kind === "decimal";
  if (setting.kind === "yes/no")
    return (
      <button
        className="switch"
        role="switch"
        aria-checked={setting.value === true}
        aria-label={setting.name}
        onClick={() => save(setting.value !== true)}
      >
        <span />
      </button>
    );
  if (setting.choices.length)
    return (
      <select
        aria-label={setting.name}
        value={String(setting.value ?? "")}
        onChange={(event) => save(event.target.value)}
      >
        {[...new Set([String(setting.value ?? ""), ...setting.choices])].map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    );
  const isChanged = text !== (setting.is_secret ? "" : String(setting.value ?? ""));
  return (
    <form
      className={css.settingForm}
      onSubmit={(event) => {
        event.preventDefault();
        save(isNumber && text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text);
      }}
    >
      <input
        type={setting.is_secret ? "password" : "text"}
        inputMode={isNumber ? "decimal" : undefined}
        autoComplete="off"
        aria-label={setting.name}
        placeholder={setting.is_secret && setting.value ? t("settings.secret") : String(setting.default ?? "")}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      {isChanged && <button className="button primary">{t("action.save")}</button>}
    </form>
  );
}
