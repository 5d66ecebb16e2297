import { useState } from "react";
import { ErrorMessage } from "@/components/ErrorMessage";
import { useMessages } from "@/schedules/messages";
import type { Schedule, ScheduleBody } from "@/schedules/schedulesApi";
import css from "./SchedulesPage.module.css";

interface Props {
  schedule?: Schedule;
  save: (body: ScheduleBody) => Promise<unknown>;
  cancel?: () => void;
}

/** A new schedule, or one to change. What was typed stays when it is refused. */
export function ScheduleForm({ schedule, save, cancel }: Props) {
  const { t } = useMessages();
  const start = {
    when: schedule?.when ?? "",
    text: schedule?.text ?? "",
    name: schedule?.name ?? "",
    deliver: schedule?.deliver ?? "",
    budget: schedule?.budget_usd ? String(schedule.budget_usd) : "",
  };
  const [values, setValues] = useState(start);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setIsBusy] = useState(false);
  const submit = async () => {
    setIsBusy(true);
    setError(null);
    const name = values.name.trim();
    try {
      await save({
        when: values.when.trim(),
        text: values.text.trim(),
        ...(name ? { name } : {}),
        deliver: values.deliver.trim(),
        budget_usd: Number(values.budget) || 0,
      });
      if (!schedule) setValues(start);
    } catch (problem) {
      setError(problem);
    }
    setIsBusy(false);
  };
  const change = (field: keyof typeof start) => (event: { target: { value: string } }) =>
    setValues({ ...values, [field]: event.target.value });
  return (
    <form
      className={css.scheduleForm}
      onKeyDown={(event) => event.key === "Escape" && cancel?.()}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <label>
        {t("schedules.when")}
        <input autoFocus={Boolean(schedule)} value={values.when} onChange={change("when")} />
        <small className="dim">{t("schedules.when.hint")}</small>
      </label>
      <label>
        {t("schedules.text")}
        <textarea rows={3} value={values.text} onChange={change("text")} />
      </label>
      <label>
        {t("schedules.name")}
        <input maxLength={100} value={values.name} onChange={change("name")} />
      </label>
      <label>
        {t("schedules.deliver")}
        <input value={values.deliver} onChange={change("deliver")} />
        <small className="dim">{t("schedules.deliver.hint")}</small>
      </label>
      <label>
        {t("schedules.budget")}
        <input type="number" min="0" step="any" value={values.budget} onChange={change("budget")} />
      </label>
      <ErrorMessage error={error} />
      <div className="row">
        <button className="button primary" disabled={isBusy || !values.when.trim() || !values.text.trim()}>
          {schedule ? t("action.save") : t("schedules.add")}
        </button>
        {cancel && (
          <button type="button" className="button" onClick={cancel}>
            {t("action.cancel")}
          </button>
        )}
      </div>
    </form>
  );
}
