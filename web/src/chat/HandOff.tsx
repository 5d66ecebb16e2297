import { useEffect, useState } from "react";
import { wasAborted } from "@/api/http";
import { Dialog } from "@/components/Dialog";
import { Icon } from "@/components/Icon";
import { Trouble } from "@/components/Trouble";
import { gatewayApi, type Handoff } from "@/gateway/gatewayApi";
import { canBeCalledOff, Ending, isOver, Steps } from "@/gateway/Steps";
import { useWords } from "@/i18n";
import { follow } from "@/router";

const DESKS = ["cli"]; // where a session can wait to be picked up

/** "Hand off to …": where to, then every step as it is taken. `moved` is called when the driver may have changed. */
export function HandOff({ session, ours, busy, leaving, moved }: { session: string; ours: boolean; busy: boolean; leaving: boolean; moved: () => void }) {
  const { t } = useWords();
  const [open, setOpen] = useState(false);
  const [handoff, setHandoff] = useState<Handoff | null>(null);
  const [error, setError] = useState<unknown>(null);
  const id = handoff && !isOver(handoff) ? handoff.id : null;

  useEffect(() => {
    if (!leaving) return; // else somebody asked for it: this page before it was loaded anew, or another one
    const gone = new AbortController();
    gatewayApi.newest(session, gone.signal).then((found) => { if (found && !isOver(found)) setHandoff(found); }, () => undefined);
    return () => gone.abort();
  }, [session, leaving]);

  useEffect(() => {
    if (!id) return;
    const gone = new AbortController();
    const watch = async () => {
      for await (const step of gatewayApi.steps(id, gone.signal)) {
        setHandoff(step);
        if (!canBeCalledOff(step)) moved();
      }
    };
    watch().catch((problem: unknown) => { if (!wasAborted(problem)) setError(problem); });
    return () => gone.abort();
  }, [id, moved]);

  const ask = (to: string) => {
    setError(null);
    gatewayApi.handOver(session, to).then(setHandoff, setError);
  };
  const close = () => {
    setOpen(false);
    setError(null);
    if (!id) setHandoff(null);
  };
  return (
    <>
      {ours && <button className="button" disabled={busy} title={busy ? t("handoff.busy") : undefined} onClick={() => setOpen(true)}><Icon name="share" size={16} /> {t("handoff.to")}</button>}
      {handoff && !isOver(handoff) && !open && <div className="leaving" role="status"><Steps handoff={handoff} /></div>}
      {open && (
        <Dialog label={t("handoff.to")} close={close} closeLabel={t("action.close")}>
          <h2>{t("handoff.to")}</h2>
          {handoff ? <Going handoff={handoff} callOff={() => gatewayApi.callOff(handoff.id).then(setHandoff, setError)} /> : <Where ask={ask} />}
          <Trouble error={error} />
        </Dialog>
      )}
    </>
  );
}

function Where({ ask }: { ask: (to: string) => void }) {
  const { t } = useWords();
  const [served, setServed] = useState<string[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [platform, setPlatform] = useState("");
  const [chat, setChat] = useState("");
  useEffect(() => {
    const leaving = new AbortController();
    gatewayApi.status(leaving.signal).then((found) => {
      const up = found.gateways.flatMap((one) => Object.entries(one.lines).filter(([, line]) => line.state === "up" || line.state === "starting").map(([name]) => name));
      const names = found.gateways.length ? [...new Set(up)].sort().concat(DESKS) : [];
      setServed(names);
      setPlatform((before) => before || (names[0] ?? ""));
    }, (problem: unknown) => { if (!wasAborted(problem)) setError(problem); });
    return () => leaving.abort();
  }, []);
  if (error) return <Trouble error={error} />;
  if (served === null) return <p className="dim" role="status">{t("loading")}</p>;
  if (!served.length) return <p>{t("gateway.none")} <code>sojourn gateway run</code></p>;
  return (
    <form className="handoff-form" onSubmit={(event) => { event.preventDefault(); ask(chat.trim() ? `${platform}:${chat.trim()}` : platform); }}>
      <p className="dim">{t("handoff.about")}</p>
      <label>{t("handoff.where")} <select value={platform} onChange={(event) => setPlatform(event.target.value)}>{served.map((one) => <option key={one} value={one}>{DESKS.includes(one) ? t("handoff.terminal") : one}</option>)}</select></label>
      {!DESKS.includes(platform) && <label>{t("handoff.chat")} <input value={chat} placeholder={t("handoff.home")} maxLength={400} onChange={(event) => setChat(event.target.value)} /></label>}
      <button className="button primary"><Icon name="share" size={16} /> {t("handoff.go")}</button>
    </form>
  );
}

function Going({ handoff, callOff }: { handoff: Handoff; callOff: () => void }) {
  const { t } = useWords();
  const room = handoff.platform === "local" ? (handoff.target || "home").split("/")[0]! : null;
  return (
    <>
      <div role="status"><Steps handoff={handoff} /></div>
      {handoff.state === "completed" && <p><strong>{t("handoff.arrived", { where: handoff.platform })}</strong> {room && <a href={`/gateway/${encodeURIComponent(room)}`} onClick={follow}>{t("handoff.look")}</a>}</p>}
      <Ending handoff={handoff} />
      {isOver(handoff) && handoff.state !== "completed" && <p className="dim">{t("handoff.intact")}</p>}
      {canBeCalledOff(handoff) && <button className="button danger" onClick={callOff}>{t("handoff.calloff")}</button>}
    </>
  );
}
