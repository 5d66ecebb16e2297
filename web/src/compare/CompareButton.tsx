import { useState } from "react";
import { useRuntimes } from "@/chat/useRuntimes";
import { CompareDialog } from "@/compare/CompareDialog";
import { useMessages } from "@/compare/messages";
import { listModelChoices, type ModelChoice } from "@/compare/modelChoices";
import { Icon } from "@/components/Icon";

export type AskBoth = (choices: [ModelChoice, ModelChoice]) => Promise<void>;

interface Props {
  ask: AskBoth;
  current: string; // the model that answers, or has answered
  isEnabled?: boolean;
  size?: number;
}

/** Opens the dialog that asks two models. It is there if there are two to ask. */
export function CompareButton({ ask, current, isEnabled = true, size = 15 }: Props) {
  const { t } = useMessages();
  const [isOpen, setIsOpen] = useState(false);
  const choices = listModelChoices(useRuntimes());
  if (choices.length < 2) return null;
  return (
    <>
      <button
        type="button"
        className="ghost"
        aria-label={t("compare.open")}
        title={t("compare.open")}
        disabled={!isEnabled}
        onClick={() => setIsOpen(true)}
      >
        <Icon name="columns" size={size} />
      </button>
      {isOpen && <CompareDialog choices={choices} current={current} ask={ask} close={() => setIsOpen(false)} />}
    </>
  );
}
