import { useEffect, useState } from "react";
import { getJson } from "@/api/http";
import type { RuntimeInfo } from "@/api/types";
import { conversationApi } from "@/chat/conversationApi";
import { useWords } from "@/i18n";

export interface Picked {
  runtime: string;
  model: string;
  template: string;
}

/** What shall answer, with which model and which template. Nothing picked means: as the session has it. */
export function Pickers({ picked, pick }: { picked: Picked; pick: (picked: Picked) => void }) {
  const { t } = useWords();
  const [runtimes, setRuntimes] = useState<RuntimeInfo[]>([]);
  const [templates, setTemplates] = useState<string[]>([]);
  useEffect(() => {
    const leaving = new AbortController();
    conversationApi.runtimes(leaving.signal).then(setRuntimes, () => undefined);
    getJson<{ templates: Array<{ name: string }> }>("/api/plugins/templates/templates", leaving.signal).then((found) => setTemplates(found.templates.map((one) => one.name)), () => undefined);
    return () => leaving.abort();
  }, []);
  const usual = runtimes.find((one) => one.default);
  const models = (runtimes.find((one) => one.name === picked.runtime) ?? usual)?.models ?? [];
  return (
    <>
      <select aria-label={t("chat.runtime")} value={picked.runtime} onChange={(event) => pick({ ...picked, runtime: event.target.value, model: "" })}>
        <option value="">{usual ? t("chat.usual", { name: usual.label }) : t("chat.runtime")}</option>
        {runtimes.map((one) => <option key={one.name} value={one.name} disabled={!one.ok} title={one.detail}>{one.label}{one.ok ? "" : ` (${t("chat.notready")})`}</option>)}
      </select>
      {models.length > 1 && (
        <select aria-label={t("chat.model")} value={picked.model} onChange={(event) => pick({ ...picked, model: event.target.value })}>
          <option value="">{t("chat.model")}</option>
          {models.map((one) => <option key={one}>{one}</option>)}
        </select>
      )}
      {templates.length > 0 && (
        <select aria-label={t("chat.template")} value={picked.template} onChange={(event) => pick({ ...picked, template: event.target.value })}>
          <option value="">{t("chat.template")}</option>
          <option value="none">{t("chat.notemplate")}</option>
          {templates.map((one) => <option key={one}>{one}</option>)}
        </select>
      )}
    </>
  );
}
