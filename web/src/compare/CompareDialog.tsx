import { useState } from "react";
import type { AskBoth } from "@/compare/CompareButton";
import { useMessages } from "@/compare/messages";
import type { ModelChoice } from "@/compare/modelChoices";
import { Dialog } from "@/components/Dialog";
import { ErrorMessage } from "@/components/ErrorMessage";
import css from "./CompareDialog.module.css";

interface Props {
  choices: ModelChoice[];
  current: string;
  ask: AskBoth;
  close: () => void;
}

/** Which two models shall answer. */
export function CompareDialog({ choices, current, ask, close }: Props) {
  const { t } = useMessages();
  const own = choices.find((choice) => choice.model === current || choice.label === current) ?? choices[0]!;
  const [first, setFirst] = useState(own);
  const [second, setSecond] = useState(choices.find((choice) => choice !== own)!);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setIsBusy] = useState(false);
  const submit = () => {
    setIsBusy(true);
    setError(null);
    ask([first, second]).then(close, (problem: unknown) => {
      setError(problem);
      setIsBusy(false);
    });
  };
  const renderSelect = (label: string, value: ModelChoice, set: (choice: ModelChoice) => void) => (
    <label>
      {label}
      <select value={value.key} onChange={(event) => set(choices.find((choice) => choice.key === event.target.value)!)}>
        {choices.map((choice) => (
          <option key={choice.key} value={choice.key}>
            {choice.label}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <Dialog label={t("compare.open")} close={close} closeLabel={t("action.close")}>
      <h2>{t("compare.open")}</h2>
      <p className="dim">{t("compare.about")}</p>
      <div className={css.comparedModels}>
        {renderSelect(t("compare.first"), first, setFirst)}
        {renderSelect(t("compare.second"), second, setSecond)}
      </div>
      <ErrorMessage error={error} />
      <button type="button" className="button primary" disabled={isBusy || first === second} onClick={submit}>
        {t("compare.ask")}
      </button>
    </Dialog>
  );
}
