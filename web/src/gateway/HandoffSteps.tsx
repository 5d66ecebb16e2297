import type { Handoff } from "@/gateway/gatewayApi";
import { type MessageKey, useMessages } from "@/gateway/messages";
import css from "./gateway.module.css";

const STEPS = ["requested", "claimed", "thread_ready", "bound", "turn_done", "delivered", "completed"] as const;
const STEPS_WITHOUT_THREAD: readonly string[] = ["requested", "claimed", "bound", "completed"]; // no message is sent there
const SURFACES_WITHOUT_THREADS = ["cli", "web"];
const FINAL_STATES = ["completed", "failed", "cancelled", "expired"];

export const isOver = (handoff: Handoff): boolean => FINAL_STATES.includes(handoff.state);
export const canCancel = (handoff: Handoff): boolean =>
  ["requested", "claimed", "thread_ready"].includes(handoff.state);

/** The index of the last step that was done. For a failed hand-off it follows from the fields that were filled. */
function findLastStep(handoff: Handoff): number {
  const index = (STEPS as readonly string[]).indexOf(handoff.state);
  if (index >= 0) return index;
  if (handoff.message_id) return 5;
  if (handoff.bound_at) return 3;
  if (handoff.place) return 2;
  return handoff.claimed_at ? 1 : 0;
}

/** The steps of a hand-off, each done, running, waiting or failed. */
export function HandoffSteps({ handoff }: { handoff: Handoff }) {
  const { t } = useMessages();
  const lastDone = findLastStep(handoff);
  const hasFailed = isOver(handoff) && handoff.state !== "completed";
  const steps = STEPS.filter(
    (step) => !SURFACES_WITHOUT_THREADS.includes(handoff.platform) || STEPS_WITHOUT_THREAD.includes(step),
  );
  const next = steps.find((step) => STEPS.indexOf(step) > lastDone);
  const getStepState = (step: (typeof STEPS)[number]) =>
    STEPS.indexOf(step) <= lastDone ? "done" : step !== next ? "waiting" : hasFailed ? "failed" : "running";
  return (
    <ol className={css.handoffSteps} aria-label={t("handoff.steps")} data-handoff={handoff.state}>
      {steps.map((step) => (
        <li key={step} data-step={step} data-state={getStepState(step)}>
          <span className={css.stepDot} aria-hidden="true">
            {{ done: "✓", failed: "✗", running: "…", waiting: "" }[getStepState(step)]}
          </span>
          <span>{t(`handoff.step.${step}` as MessageKey)}</span>{" "}
          <span className="visually-hidden">({t(`handoff.is.${getStepState(step)}` as MessageKey)})</span>
        </li>
      ))}
    </ol>
  );
}

/** The note of a completed hand-off, or why it ended otherwise. */
export function HandoffOutcome({ handoff }: { handoff: Handoff }) {
  const { t } = useMessages();
  if (handoff.state === "completed") return handoff.note ? <p className="dim">{handoff.note}</p> : null;
  if (!isOver(handoff)) return null;
  return (
    <p className="problem-text">
      {t(`handoff.ended.${handoff.state}` as MessageKey)}
      {handoff.error && ` ${handoff.error}`}{" "}
      {handoff.error_code && <span className="mono dim">{handoff.error_code}</span>}
    </p>
  );
}
