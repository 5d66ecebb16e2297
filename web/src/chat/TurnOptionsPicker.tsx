import { useEffect, useState } from "react";
import { getJson } from "@/api/http";
import type { RuntimeInfo } from "@/api/types";
import { conversationApi } from "@/chat/conversationApi";
import { useMessages } from "@/chat/messages";

export interface TurnOptions {
  runtime: string;
  model: string;
  template: string;
}

/** The selects for runtime, model and template of the next turn. An empty value keeps the session's own. */
export function TurnOptionsPicker({
  options,
  onChange,
}: {
  options: TurnOptions;
  onChange: (options: TurnOptions) => void;
}) {
  const { t } = useMessages();
  const [runtimes, setRuntimes] = useState<RuntimeInfo[]>([]);
  const [templates, setTemplates] = useState<string[]>([]);
  useEffect(() => {
    const controller = new AbortController();
    conversationApi.listRuntimes(controller.signal).then(setRuntimes, () => undefined);
    getJson<{ templates: Array<{ name: string }> }>("/api/plugins/templates/templates", controller.signal).then(
      (response) => setTemplates(response.templates.map((template) => template.name)),
      () => undefined,
    );
    return () => controller.abort();
  }, []);
  const defaultRuntime = runtimes.find((runtime) => runtime.default);
  const models = (runtimes.find((runtime) => runtime.name === options.runtime) ?? defaultRuntime)?.models ?? [];
  return (
    <>
      <select
        aria-label={t("chat.runtime")}
        value={options.runtime}
        onChange={(event) => onChange({ ...options, runtime: event.target.value, model: "" })}
      >
        <option value="">
          {defaultRuntime ? t("chat.runtime.default", { name: defaultRuntime.label }) : t("chat.runtime")}
        </option>
        {runtimes.map((runtime) => (
          <option key={runtime.name} value={runtime.name} disabled={!runtime.ok} title={runtime.detail}>
            {runtime.label}
            {runtime.ok ? "" : ` (${t("chat.runtime.notready")})`}
          </option>
        ))}
      </select>
      {models.length > 1 && (
        <select
          aria-label={t("chat.model")}
          value={options.model}
          onChange={(event) => onChange({ ...options, model: event.target.value })}
        >
          <option value="">{t("chat.model")}</option>
          {models.map((model) => (
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
