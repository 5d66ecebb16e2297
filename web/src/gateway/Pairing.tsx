import { useState } from "react";
import { ErrorMessage } from "@/components/ErrorMessage";
import { Icon } from "@/components/Icon";
import { gatewayApi, type People } from "@/gateway/gatewayApi";
import { useMessages } from "@/gateway/messages";
import type { Polled } from "@/gateway/usePolling";
import { formatRelativeTime } from "@/i18n";
import css from "./gateway.module.css";

/** Pending pairing requests and approved people. A name proves nothing, so approval needs the code that the person received. */
export function Pairing({ polled }: { polled: Polled<People> }) {
  const { t } = useMessages();
  const [error, setError] = useState<unknown>(null);
  const runAndRefresh = (work: Promise<unknown>) => {
    setError(null);
    work.then(polled.refresh, setError);
  };
  const people = polled.data;
  return (
    <section className="card" aria-label={t("pairing.title")}>
      <h2>{t("pairing.title")}</h2>
      <p className="dim">{t("pairing.about")}</p>
      <ErrorMessage error={error ?? polled.error} />
      {people?.waiting.length === 0 && <p className="dim">{t("pairing.none")}</p>}
      <ul className={css.peopleList}>
        {people?.waiting.map((request) => (
          <PairingRequest
            key={`${request.platform}:${request.sender}`}
            request={request}
            approve={(code, isOwner) => runAndRefresh(gatewayApi.approvePairing(code, isOwner, ""))}
            deny={() => runAndRefresh(gatewayApi.denyPairing(request.platform, request.sender))}
          />
        ))}
      </ul>
      {Boolean(people?.paired.length) && <h3>{t("pairing.approved")}</h3>}
      <ul className={css.peopleList}>
        {people?.paired.map((person) => (
          <li key={`${person.platform}:${person.sender}`} className="row">
            <span className="pill">{person.platform}</span> <strong>{person.name || person.sender}</strong>{" "}
            <span className="dim mono grow">{person.sender}</span>{" "}
            <span className="pill">{person.principal === "owner" ? t("pairing.owner") : t("pairing.guest")}</span>
            <button
              className="button danger"
              onClick={() => runAndRefresh(gatewayApi.revokePairing(person.platform, person.sender))}
            >
              {t("pairing.revoke")}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function PairingRequest({
  request,
  approve,
  deny,
}: {
  request: People["waiting"][number];
  approve: (code: string, isOwner: boolean) => void;
  deny: () => void;
}) {
  const { t, language } = useMessages();
  const [code, setCode] = useState("");
  const [isOwner, setIsOwner] = useState(false);
  return (
    <li data-waiting={request.sender}>
      <form
        className="row"
        onSubmit={(event) => {
          event.preventDefault();
          approve(code, isOwner);
        }}
      >
        <span className="pill">{request.platform}</span> <strong>{request.name || request.sender}</strong>{" "}
        <span className="dim mono">{request.sender}</span>{" "}
        <span className="dim grow">{t("pairing.expires", { when: formatRelativeTime(request.until, language) })}</span>
        <input
          className={`${css.pairingCode} mono`}
          placeholder={t("pairing.code")}
          aria-label={t("pairing.code.of", { name: request.name || request.sender })}
          value={code}
          autoComplete="off"
          maxLength={40}
          onChange={(event) => setCode(event.target.value)}
        />
        <label className="row">
          <input type="checkbox" checked={isOwner} onChange={(event) => setIsOwner(event.target.checked)} />{" "}
          {t("pairing.me")}
        </label>
        <button className="button primary" disabled={!code.trim()}>
          <Icon name="check" size={16} /> {t("pairing.approve")}
        </button>
        <button type="button" className="button danger" onClick={deny}>
          {t("pairing.deny")}
        </button>
      </form>
    </li>
  );
}
