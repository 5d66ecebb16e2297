import type { CommandAnswer } from "@/api/types";
import { useMessages } from "@/chat/messages";
import { Icon } from "@/components/Icon";
import css from "./CommandAnswerCard.module.css";

/** What a command answered. */
export function CommandAnswerCard({ answer, close }: { answer: CommandAnswer; close: () => void }) {
  const { t } = useMessages();
  return (
    <section className={`card ${css.commandAnswer}`} role="status" aria-label={t("chat.commands.answer")}>
      <button className="ghost" aria-label={t("action.close")} onClick={close}>
        <Icon name="close" size={16} />
      </button>
      {answer.lines.map((line, index) => (
        <p key={index}>{line}</p>
      ))}
      {answer.rows.length > 0 && (
        <table>
          <tbody>
            {answer.rows.map((row, index) => (
              <tr key={index}>
                {row.map((cell, column) => (
                  <td key={column}>{cell}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
