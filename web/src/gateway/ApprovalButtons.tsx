import { useState } from "react";
import { ErrorMessage } from "@/components/ErrorMessage";
import { Icon } from "@/components/Icon";
import { gatewayApi, type RoomMessage } from "@/gateway/gatewayApi";
import { useMessages } from "@/gateway/messages";
import css from "./gateway.module.css";

/** The answer buttons of an approval in a local room. A press is stored as a message of the room, so every tab shows it at once.
 * Only the owner's press counts; once the gateway has read it, it edits the question and removes the buttons. */
export function ApprovalButtons({
  message,
  presses,
  sender,
}: {
  message: RoomMessage;
  presses: RoomMessage[];
  sender: string;
}) {
  const { t } = useMessages();
  const [pendingValue, setPendingValue] = useState("");
  const [error, setError] = useState<unknown>(null);
  const isAnswered = presses.some((press) => press.by === "owner");
  const pressButton = (value: string) => {
    setError(null);
    setPendingValue(value);
    gatewayApi
      .pressButton(message.room, message.n, value, sender)
      .catch(setError)
      .finally(() => setPendingValue(""));
  };
  return (
    <>
      <div className={`row ${css.approvalButtons}`} role="group" aria-label={t("room.answers")}>
        {message.buttons.map((button) => {
          const isPressed = button.value === pendingValue || presses.some((press) => press.pressed === button.value);
          return (
            <button
              key={button.value}
              className="button"
              aria-pressed={isPressed}
              disabled={isAnswered || pendingValue !== ""}
              onClick={() => pressButton(button.value)}
            >
              {isPressed && <Icon name="check" size={14} />} {button.label}
            </button>
          );
        })}
      </div>
      <ErrorMessage error={error} />
    </>
  );
}
