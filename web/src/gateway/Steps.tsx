import { useWords, type Key } from "@/i18n";
import type { Handoff } from "@/gateway/gatewayApi";

const ALL = ["requested", "claimed", "thread_ready", "bound", "turn_done", "delivered", "completed"] as const;
const AT_A_DESK: readonly string[] = ["requested", "claimed", "bound", "completed"]; // nobody has to be told there
const DESKS = ["cli", "web"];
const OVER = ["completed", "failed", "cancelled", "expired"];

export const isOver = (handoff: Handoff): boolean => OVER.includes(handoff.state);
export const canBeCalledOff = (handoff: Handoff): boolean => ["requested", "claimed", "thread_ready"].includes(handoff.state);

/** How far it came. One that ended badly tells it by what it left behind. */
function reached(handoff: Handoff): number {
  const at = ALL.findIndex((one) => one === handoff.state);
  if (at >= 0) return at;
  if (handoff.message_id) return 5;
  if (handoff.bound_at) return 3;
  if (handoff.place) return 2;
  return handoff.claimed_at ? 1 : 0;
}

/** A hand-off, step by step: what is done, what is being done, and where and why it ended. */
export function Steps({ handoff }: { handoff: Handoff }) {
  const { t } = useWords();
  const far = reached(handoff);
  const broke = isOver(handoff) && handoff.state !== "completed";
  const steps = ALL.filter((one) => !DESKS.includes(handoff.platform) || AT_A_DESK.includes(one));
  const next = steps.find((one) => ALL.indexOf(one) > far);
  const state = (one: (typeof ALL)[number]) => (ALL.indexOf(one) <= far ? "done" : one !== next ? "waiting" : broke ? "failed" : "running");
  return (
    <ol className="steps" aria-label={t("handoff.steps")} data-handoff={handoff.state}>
      {steps.map((one) => (
        <li key={one} data-step={one} data-state={state(one)}>
          <span className="step-dot" aria-hidden="true">{{ done: "✓", failed: "✗", running: "…", waiting: "" }[state(one)]}</span>
          <span>{t(`handoff.step.${one}` as Key)}</span> <span className="visually-hidden">({t(`handoff.is.${state(one)}` as Key)})</span>
        </li>
      ))}
    </ol>
  );
}

export function Ending({ handoff }: { handoff: Handoff }) {
  const { t } = useWords();
  if (handoff.state === "completed") return handoff.note ? <p className="dim">{handoff.note}</p> : null;
  if (!isOver(handoff)) return null;
  return <p className="problem-text">{t(`handoff.ended.${handoff.state}` as Key)}{handoff.error && ` ${handoff.error}`} {handoff.error_code && <span className="mono dim">{handoff.error_code}</span>}</p>;
}
