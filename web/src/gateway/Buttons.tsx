import { useState } from "react";
import { Icon } from "@/components/Icon";
import { Trouble } from "@/components/Trouble";
import { gatewayApi, type Note } from "@/gateway/gatewayApi";
import { useWords } from "@/i18n";

/** The answers to a question that a turn asks. What was pressed is kept in the room, so every tab shows it at once; only the
 * owner's counts, and when the gateway has heard it the question says so and the buttons are gone. */
export function Buttons({ note, presses, sender }: { note: Note; presses: Note[]; sender: string }) {
  const { t } = useWords();
  const [sending, setSending] = useState("");
  const [error, setError] = useState<unknown>(null);
  const taken = presses.some((one) => one.by === "owner");
  const press = (value: string) => {
    setError(null);
    setSending(value);
    gatewayApi.press(note.room, note.n, value, sender).catch(setError).finally(() => setSending(""));
  };
  return (
    <>
      <div className="row answers" role="group" aria-label={t("room.answers")}>
        {note.buttons.map((one) => {
          const pressed = one.value === sending || presses.some((other) => other.pressed === one.value);
          return <button key={one.value} className="button" aria-pressed={pressed} disabled={taken || sending !== ""} onClick={() => press(one.value)}>{pressed && <Icon name="check" size={14} />} {one.label}</button>;
        })}
      </div>
      <Trouble error={error} />
    </>
  );
}
