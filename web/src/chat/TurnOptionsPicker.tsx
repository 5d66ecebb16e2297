import { useEffect, useState } from "react";
import { getJson } from "@/api/http";
import type { Session } from "@/api/types";
import { useMessages } from "@/chat/messages";
import { useRuntimes } from "@/chat/useRuntimes";
import type { TurnOptions } from "@/chat/useTurnOptions";
import { useSentences } from "@/serverTexts/serverTexts";

interface Props {
  options: TurnOptions;
  onChange: (options: TurnOptions) => void;
  session: Session | null;
}

/** The selects for runtime, model and template of the next turn. An empty value keeps the session's own, which is named. */
export function TurnOptionsPicker({ options, onChange, session }: Props) {
  const { t } = useMessages();
  const translate = useSentences();
  const runtimes = useRuntimes();
  const [templates, setTemplates] = useState<string[]>([]);
  useEffect(() => {
    const controller = new AbortController();
    getJson<{ templates: Array<{ name: string }> }>("/api/plugins/templates/templates", controller.signal).then(
      (response) => setTemplates(response.templates.map((template) => template.name)),
      () => undefined,
    );
    return () => controller.abort();
  }, []);
  const defaultRuntime = runtimes.find((runtime) => runtime.default);
  const chosen = runtimes.find((runtime) => runtime.name === options.runtime) ?? defaultRuntime;
  const models = chosen?.models ?? [];
  const sessionModel = session?.model && models.includes(session.model) ? session.model : models[0];
  return (
    <>
      <select
        aria-label={t("chat.runtime")}
        data-model-picker
        value={options.runtime}
        onChange={(event) => onChange({ ...options, runtime: event.target.value, model: "" })}
      >
        <option value="">
          {defaultRuntime ? t("chat.runtime.default", { name: translate(defaultRuntime.label) }) : t("chat.runtime")}
        </option>
        {runtimes.map((runtime) => (
          <option key={runtime.name} value={runtime.name} disabled={!runtime.ok} title={runtime.detail}>
            {translate(runtime.label)}
            {runtime.ok ? "" : ` (${t("chat.runtime.notready")})`}
          </option>
        ))}
      </select>
      {models.length > 0 && (
        <select
          aria-label={t("chat.model")}
          value={models.includes(options.model) ? options.model : ""}
          onChange={(event) => onChange({ ...options, model: event.target.value })}
        >
          <option value="">{sessionModel ?? t("chat.model")}</option>
          {models
            .filter((model) => model !== sessionModel)
            .map((model) => (
              <option key={model}>{model}</option>
            ))}
        </select>
      )}
      {templates.length > 0 && (
        <select
          aria-label={t("chat.template")}
          value={options.template}
          onChange={(event) => onChange({ ...options, template: event.target.value })}
        >
          <option value="">{t("chat.template")}</option>
          <option value="none">{t("chat.template.none")}</option>
          {templates.map((template) => (
            <option key={template}>{template}</option>
          ))}
        </select>
      )}
    </>
  );
}
