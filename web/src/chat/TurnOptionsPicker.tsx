import { useEffect, useState } from "react";
import { getJson } from "@/api/http";
import type { RuntimeInfo, Session } from "@/api/types";
import { useMessages } from "@/chat/messages";
import { useRuntimes } from "@/chat/useRuntimes";
import type { TurnOptions } from "@/chat/useTurnOptions";
import { Dialog } from "@/components/Dialog";
import { Icon } from "@/components/Icon";
import { useIsPhone } from "@/components/useIsPhone";
import { useSentences } from "@/serverTexts/serverTexts";
import css from "./TurnOptionsPicker.module.css";

interface Props {
  options: TurnOptions;
  onChange: (options: TurnOptions) => void;
  session: Session | null;
}

const RULES = "rules"; // the model of the offline runtime when it has none

/** The model that answers unless another one is chosen: the session's own, if this runtime has it. */
const findSessionModel = (session: Session | null, runtime: RuntimeInfo | undefined): string | undefined =>
  session?.model && runtime?.models.includes(session.model) ? session.model : runtime?.models[0];

const labelModel = (model: string, t: ReturnType<typeof useMessages>["t"]) =>
  model === RULES ? t("chat.model.rules") : model;

/** Who answers the next turn: selects in the row of a wide screen; on a phone a button with the model that opens them. */
export function TurnOptionsPicker(props: Props) {
  const { t } = useMessages();
  const isPhone = useIsPhone();
  const [isOpen, setIsOpen] = useState(false);
  const runtimes = useRuntimes();
  if (!isPhone) return <OptionSelects {...props} />;
  const { options, session } = props;
  const runtime = runtimes.find((one) => (options.runtime ? one.name === options.runtime : one.default));
  const model = options.model || findSessionModel(session, runtime);
  return (
    <>
      <button
        type="button"
        data-model-picker
        className={css.chosen}
        aria-haspopup="dialog"
        onClick={() => setIsOpen(true)}
      >
        <span>{model ? labelModel(model, t) : (runtime?.label ?? t("chat.runtime"))}</span>
        <Icon name="down" size={14} />
      </button>
      {isOpen && (
        <Dialog label={t("chat.options")} close={() => setIsOpen(false)} closeLabel={t("action.close")}>
          <h2>{t("chat.options")}</h2>
          <div className={css.stacked}>
            <OptionSelects {...props} />
          </div>
        </Dialog>
      )}
    </>
  );
}

/** The selects for runtime, model and template of the next turn. An empty value keeps the session's own, which is named. */
function OptionSelects({ options, onChange, session }: Props) {
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
  const sessionModel = findSessionModel(session, chosen);
  return (
    <>
      <label className={css.option}>
        <span>{t("chat.runtime")}</span>
        <select
          data-model-picker
          value={options.runtime}
          onChange={(event) => onChange({ ...options, runtime: event.target.value, model: "" })}
        >
          <option value="">
            {defaultRuntime ? t("chat.runtime.default", { name: translate(defaultRuntime.label) }) : t("chat.runtime")}
          </option>
          {runtimes
            .filter((runtime) => runtime.offered || runtime.name === options.runtime)
            .map((runtime) => (
              <option key={runtime.name} value={runtime.name} disabled={!runtime.ok} title={runtime.detail}>
                {translate(runtime.label)}
                {runtime.ok ? "" : ` (${t("chat.runtime.notready")})`}
              </option>
            ))}
        </select>
      </label>
      {models.length > 0 && (
        <label className={css.option}>
          <span>{t("chat.model")}</span>
          <select
            value={models.includes(options.model) ? options.model : ""}
            onChange={(event) => onChange({ ...options, model: event.target.value })}
          >
            <option value="">{sessionModel ? labelModel(sessionModel, t) : t("chat.model")}</option>
            {models
              .filter((model) => model !== sessionModel)
              .map((model) => (
                <option key={model} value={model}>
                  {labelModel(model, t)}
                </option>
              ))}
          </select>
        </label>
      )}
      {templates.length > 0 && (
        <label className={css.option}>
          <span>{t("chat.template")}</span>
          <select value={options.template} onChange={(event) => onChange({ ...options, template: event.target.value })}>
            <option value="">{t("chat.template")}</option>
            <option value="none">{t("chat.template.none")}</option>
            {templates.map((template) => (
              <option key={template}>{template}</option>
            ))}
          </select>
        </label>
      )}
    </>
  );
}
