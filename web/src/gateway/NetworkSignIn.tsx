import { useEffect, useState } from "react";
import { ErrorMessage } from "@/components/ErrorMessage";
import { useMessages } from "@/gateway/messages";
import { NetworkForm } from "@/gateway/NetworkForm";
import { type FieldValues, type Network, networksApi, type SignInStep } from "@/gateway/networksApi";
import { QrPicture } from "@/gateway/QrPicture";
import { useSentences } from "@/serverTexts/serverTexts";

/** Signs in step by step: a text or a QR code to scan, and where it is asked for, an answer. */
export function NetworkSignIn({ network, onDone }: { network: Network; onDone: () => void }) {
  const { t } = useMessages();
  const translate = useSentences();
  const [step, setStep] = useState<SignInStep | null>(null);
  const [answer, setAnswer] = useState("");
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    if (!step || step.has_question) return;
    if (step.is_done) return onDone();
    let isLeft = false;
    networksApi.advanceSignIn(network.name, step.id, "").then(
      (next) => {
        if (!isLeft) setStep(next);
      },
      (problem: unknown) => {
        if (!isLeft) setError(problem);
      },
    );
    return () => {
      isLeft = true;
    };
  }, [step]);
  const begin = (values: FieldValues) => {
    setError(null);
    networksApi.beginSignIn(network.name, values).then(setStep, setError);
  };
  if (!step)
    return (
      <>
        <NetworkForm network={network} submit={begin} isBusy={false} label={t("networks.signin")} />
        <ErrorMessage error={error} />
      </>
    );
  return (
    <div role="status">
      <p>{translate(step.text)}</p>
      {step.picture && <QrPicture picture={step.picture} label={t("networks.qr")} />}
      {step.has_question && (
        <form
          className="row"
          onSubmit={(event) => {
            event.preventDefault();
            networksApi.advanceSignIn(network.name, step.id, answer).then(setStep, setError);
            setAnswer("");
          }}
        >
          <input
            className="grow"
            type={step.is_secret ? "password" : "text"}
            autoComplete="off"
            aria-label={translate(step.text)}
            value={answer}
            onChange={(event) => setAnswer(event.target.value)}
          />
          <button className="button primary">{t("networks.next")}</button>
        </form>
      )}
      <ErrorMessage error={error} />
    </div>
  );
}
