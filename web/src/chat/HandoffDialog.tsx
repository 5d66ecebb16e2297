import { useEffect, useState } from "react";
import { isAbortError } from "@/api/http";
import { useMessages } from "@/chat/messages";
import { Dialog } from "@/components/Dialog";
import { ErrorMessage } from "@/components/ErrorMessage";
import { Icon } from "@/components/Icon";
import { gatewayApi, type Handoff } from "@/gateway/gatewayApi";
import { canCancel, HandoffOutcome, HandoffSteps, isOver } from "@/gateway/HandoffSteps";
import { followLink } from "@/router";
import { getSourceLabel } from "@/sessions/sourceLabels";
import css from "./HandoffDialog.module.css";

const TERMINALS = ["cli"]; // surfaces where a session waits to be picked up

/** The button "Hand off to…" and its dialog: destination first, then each step. `onMoved`: the driver may have changed. */
export function HandoffDialog({
  session,
  isDriver,
  isBusy,
  isInProgress,
  needsApproval,
  onMoved,
}: {
  session: string;
  isDriver: boolean;
  isBusy: boolean;
  isInProgress: boolean;
  needsApproval: boolean; // the turn that says hello there asks
  onMoved: () => void;
}) {
  const { t } = useMessages();
  const [isOpen, setIsOpen] = useState(false);
  const [handoff, setHandoff] = useState<Handoff | null>(null);
  const [error, setError] = useState<unknown>(null);
  const id = handoff && !isOver(handoff) ? handoff.id : null;

  useEffect(() => {
    if (!isInProgress) return; // requested by another tab, or by this page before a reload
    const controller = new AbortController();
    gatewayApi.findLatestHandoff(session, controller.signal).then(
      (latest) => {
        if (latest && !isOver(latest)) setHandoff(latest);
      },
      () => undefined,
    );
    return () => controller.abort();
  }, [session, isInProgress]);

  useEffect(() => {
    if (!id) return;
    const controller = new AbortController();
    const followSteps = async () => {
      for await (const step of gatewayApi.streamHandoff(id, controller.signal)) {
        setHandoff(step);
        if (!canCancel(step)) onMoved();
      }
    };
    followSteps().catch((problem: unknown) => {
      if (!isAbortError(problem)) setError(problem);
    });
    return () => controller.abort();
  }, [id, onMoved]);

  const requestHandoff = (to: string) => {
    setError(null);
    gatewayApi.requestHandoff(session, to).then(setHandoff, setError);
  };
  const close = () => {
    setIsOpen(false);
    setError(null);
    if (!id) setHandoff(null);
  };
  return (
    <>
      {isDriver && (
        <button
          className="button"
          disabled={isBusy}
          aria-label={t("handoff.to")}
          title={t(isBusy ? "handoff.busy" : "handoff.to")}
          onClick={() => setIsOpen(true)}
        >
          <Icon name="share" size={16} /> <span className={css.handoffLabel}>{t("handoff.to")}</span>
        </button>
      )}
      {handoff && !isOver(handoff) && !isOpen && (
        <div className={css.handoffStatus} role="status">
          <HandoffSteps handoff={handoff} />
        </div>
      )}
      {isOpen && (
        <Dialog label={t("handoff.to")} close={close} closeLabel={t("action.close")}>
          <h2>{t("handoff.to")}</h2>
          {handoff ? (
            <HandoffProgress
              handoff={handoff}
              needsApproval={needsApproval}
              cancel={() => gatewayApi.cancelHandoff(handoff.id).then(setHandoff, setError)}
            />
          ) : (
            <DestinationForm submit={requestHandoff} />
          )}
          <ErrorMessage error={error} />
        </Dialog>
      )}
    </>
  );
}

function DestinationForm({ submit }: { submit: (to: string) => void }) {
  const { t } = useMessages();
  const [platforms, setPlatforms] = useState<string[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [platform, setPlatform] = useState("");
  const [chat, setChat] = useState("");
  useEffect(() => {
    const controller = new AbortController();
    gatewayApi.getStatus(controller.signal).then(
      (status) => {
        const connected = status.gateways.flatMap((gateway) =>
          Object.entries(gateway.lines)
            .filter(([, connection]) => connection.state === "up" || connection.state === "starting")
            .map(([name]) => name),
        );
        const names = status.gateways.length ? [...new Set(connected)].sort().concat(TERMINALS) : [];
        setPlatforms(names);
        setPlatform((before) => before || (names[0] ?? ""));
      },
      (problem: unknown) => {
        if (!isAbortError(problem)) setError(problem);
      },
    );
    return () => controller.abort();
  }, []);
  if (error) return <ErrorMessage error={error} />;
  if (platforms === null)
    return (
      <p className="dim" role="status">
        {t("loading")}
      </p>
    );
  if (!platforms.length)
    return (
      <p>
        {t("gateway.none")} <code>sojourn gateway run</code>
      </p>
    );
  return (
    <form
      className={css.handoffForm}
      onSubmit={(event) => {
        event.preventDefault();
        submit(chat.trim() ? `${platform}:${chat.trim()}` : platform);
      }}
    >
      <p className="dim">{t("handoff.about")}</p>
      <label>
        {t("handoff.destination")}{" "}
        <select value={platform} onChange={(event) => setPlatform(event.target.value)}>
          {platforms.map((name) => (
            <option key={name} value={name}>
              {getPlaceLabel(name, t)}
            </option>
          ))}
        </select>
      </label>
      {!TERMINALS.includes(platform) && (
        <label>
          {t("handoff.chat")}{" "}
          <input
            value={chat}
            placeholder={t("handoff.home")}
            maxLength={400}
            onChange={(event) => setChat(event.target.value)}
          />
        </label>
      )}
      <div className="row">
        <button className="button primary">
          <Icon name="share" size={16} /> {t("handoff.submit")}
        </button>
        <a href="/gateway" onClick={followLink}>
          {t("handoff.addnetwork")}
        </a>
      </div>
    </form>
  );
}

const getPlaceLabel = (platform: string, t: ReturnType<typeof useMessages>["t"]): string =>
  TERMINALS.includes(platform) ? t("handoff.terminal") : getSourceLabel(platform);

function HandoffProgress({
  handoff,
  needsApproval,
  cancel,
}: {
  handoff: Handoff;
  needsApproval: boolean;
  cancel: () => void;
}) {
  const { t } = useMessages();
  const room = handoff.platform === "local" ? (handoff.target || "home").split("/")[0]! : null;
  return (
    <>
      <div role="status">
        <HandoffSteps handoff={handoff} />
      </div>
      {needsApproval && !isOver(handoff) && <p role="status">{t("handoff.approval")}</p>}
      {handoff.state === "completed" && (
        <p>
          <strong>{t("handoff.moved", { where: getPlaceLabel(handoff.platform, t) })}</strong>{" "}
          {TERMINALS.includes(handoff.platform) && (
            <>
              {t("handoff.resume")} <code>sojourn chat --resume {handoff.session}</code>
            </>
          )}
          {room && (
            <a href={`/gateway/${encodeURIComponent(room)}`} onClick={followLink}>
              {t("handoff.open")}
            </a>
          )}
        </p>
      )}
      <HandoffOutcome handoff={handoff} />
      {isOver(handoff) && handoff.state !== "completed" && <p className="dim">{t("handoff.unchanged")}</p>}
      {canCancel(handoff) && (
        <button className="button danger" onClick={cancel}>
          {t("handoff.cancel")}
        </button>
      )}
    </>
  );
}
