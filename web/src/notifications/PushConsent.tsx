import { useEffect, useState } from "react";
import { ErrorMessage } from "@/components/ErrorMessage";
import { useMessages } from "@/notifications/messages";
import { canPush, getPushServer, isPushOn, turnPushOff, turnPushOn } from "@/notifications/webPush";

/** Asks for consent to messages that pass a server of the browser's maker, which it names; or takes it back. */
export function PushConsent() {
  const { t } = useMessages();
  const [isOn, setIsOn] = useState<boolean | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    if (canPush()) isPushOn().then(setIsOn, () => setIsOn(false));
  }, []);
  if (isOn === null) return null;
  const change = async () => {
    setError(null);
    setIsBusy(true);
    try {
      await (isOn ? turnPushOff() : turnPushOn());
      setIsOn(!isOn);
    } catch (problem) {
      setError(problem instanceof DOMException ? new Error(t("push.failed", { why: problem.message })) : problem);
    }
    setIsBusy(false);
  };
  return (
    <>
      <p className="dim">{t(isOn ? "push.on" : "push.consent", { server: getPushServer() })}</p>
      <button className="button" disabled={isBusy} onClick={() => void change()}>
        {t(isOn ? "push.turnoff" : "push.turnon")}
      </button>
      <ErrorMessage error={error} />
    </>
  );
}
