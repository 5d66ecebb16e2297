import { useState } from "react";
import { Dialog } from "@/components/Dialog";
import { ErrorMessage } from "@/components/ErrorMessage";
import { showToast } from "@/components/Toasts";
import { useMessages } from "@/gateway/messages";
import { NetworkForm } from "@/gateway/NetworkForm";
import { NetworkInvitation } from "@/gateway/NetworkInvitation";
import { NetworkSignIn } from "@/gateway/NetworkSignIn";
import { type FieldValues, type Network, networksApi } from "@/gateway/networksApi";
import { useServerTexts } from "@/serverTexts/serverTexts";
import { getSourceLabel } from "@/sessions/sourceLabels";

interface Props {
  network: Network;
  close: () => void;
  onChange: () => void;
}

/** The wizard of one network: packages, then credentials or a sign-in, then pairing and a test. */
export function NetworkDialog({ network, close, onChange }: Props) {
  const { t } = useMessages();
  const texts = useServerTexts();
  const label = getSourceLabel(network.name);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setIsBusy] = useState(false);
  const [profile, setProfile] = useState("");
  const run = async (work: () => Promise<void>) => {
    setError(null);
    setIsBusy(true);
    try {
      await work();
      onChange();
    } catch (problem) {
      setError(problem);
    }
    setIsBusy(false);
  };
  const add = (settings: FieldValues) =>
    run(async () => {
      const { profile: found } = await networksApi.add(network.name, settings);
      setProfile(found ? `${found.name} ${found.address}` : "");
      showToast(t("networks.added", { name: label }));
    });
  const remove = () =>
    run(async () => {
      await networksApi.remove(network.name);
      close();
    });
  const sendTest = () =>
    run(async () => {
      const { sent_to, receiver_problem } = await networksApi.sendTest(network.name);
      if (receiver_problem) throw new Error(receiver_problem);
      showToast(t("networks.tested", { where: sent_to }));
    });
  return (
    <Dialog label={label} close={close} closeLabel={t("action.close")} isWide>
      <h2>{label}</h2>
      <p className="dim">{texts?.plugins[network.name] ?? network.summary}</p>
      {network.missing_packages.length > 0 ? (
        <>
          <p>{t("networks.packages", { names: network.missing_packages.join(", ") })}</p>
          <div className="row">
            <button
              className="button primary"
              disabled={isBusy}
              onClick={() => void run(async () => void (await networksApi.install(network.name)))}
            >
              {t(isBusy ? "networks.installing" : "networks.install")}
            </button>
          </div>
        </>
      ) : network.is_configured ? (
        <>
          {profile && <p>{t("networks.profile", { name: profile })}</p>}
          <NetworkInvitation name={network.name} />
          <div className="row">
            <button className="button" disabled={isBusy} onClick={() => void sendTest()}>
              {t("networks.test")}
            </button>
            <button className="button danger" disabled={isBusy} onClick={() => void remove()}>
              {t("action.remove")}
            </button>
          </div>
        </>
      ) : network.can_sign_in ? (
        <NetworkSignIn network={network} onDone={onChange} />
      ) : (
        <NetworkForm network={network} submit={add} isBusy={isBusy} label={t("networks.connect")} />
      )}
      {network.receives_at && <p className="dim">{t("networks.receives", { address: network.receives_at })}</p>}
      <ErrorMessage error={error} />
    </Dialog>
  );
}
