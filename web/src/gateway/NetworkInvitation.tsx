import { useState } from "react";
import { ErrorMessage } from "@/components/ErrorMessage";
import { useMessages } from "@/gateway/messages";
import { type Invitation, networksApi } from "@/gateway/networksApi";
import { QrPicture } from "@/gateway/QrPicture";

/** Pairs the person's own account: a link or a QR code to open, or a code to send to the bot. */
export function NetworkInvitation({ name }: { name: string }) {
  const { t } = useMessages();
  const [invitation, setInvitation] = useState<Invitation | null>(null);
  const [error, setError] = useState<unknown>(null);
  if (!invitation)
    return (
      <div className="row">
        <button className="button primary" onClick={() => void networksApi.invite(name).then(setInvitation, setError)}>
          {t("networks.pair")}
        </button>
        <ErrorMessage error={error} />
      </div>
    );
  return (
    <div role="status">
      <p>{t("networks.pair.hint")}</p>
      {invitation.picture && <QrPicture picture={invitation.picture} label={t("networks.qr")} />}
      <p>
        <strong className="mono">{invitation.code}</strong>{" "}
        {invitation.link && (
          <a href={invitation.link} target="_blank" rel="noopener noreferrer">
            {t("networks.pair.open")}
          </a>
        )}
      </p>
    </div>
  );
}
