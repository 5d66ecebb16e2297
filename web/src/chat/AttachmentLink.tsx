import { useState } from "react";
import { saveFile, useFileUrl } from "@/api/download";
import { conversationApi } from "@/chat/conversationApi";
import { useMessages } from "@/chat/messages";
import { ErrorMessage } from "@/components/ErrorMessage";
import { Icon } from "@/components/Icon";
import css from "./AttachmentLink.module.css";

/** A file of a message: a picture is shown, anything else can be saved. */
export function AttachmentLink({ part, session }: { part: Record<string, unknown>; session: string }) {
  const name = String(part["name"] || part["hash"]);
  const url = conversationApi.getAttachmentUrl(session, String(part["hash"]));
  if (/^image\/(png|jpeg|gif|webp)$/.test(String(part["media_type"]))) return <Picture url={url} name={name} />;
  return <SavedFile url={url} name={name} holdsSecrets={part["holds_secrets"] === true} />;
}

function Picture({ url, name }: { url: string; name: string }) {
  const [error, setError] = useState<unknown>(null);
  const address = useFileUrl(url, setError);
  if (error) return <ErrorMessage error={error} />;
  if (!address)
    return (
      <span className="pill" aria-busy="true">
        {name}
      </span>
    );
  return (
    <a href={address} target="_blank" rel="noopener">
      <img className={css.attachmentImage} src={address} alt={name} />
    </a>
  );
}

function SavedFile({ url, name, holdsSecrets }: { url: string; name: string; holdsSecrets: boolean }) {
  const { t } = useMessages();
  const [error, setError] = useState<unknown>(null);
  return (
    <>
      <button className="pill" onClick={() => void saveFile(url, name).catch(setError)}>
        <Icon name="clip" size={13} /> {name}
      </button>
      {holdsSecrets && <span className="dim"> {t("chat.attachments.secrets")}</span>}
      <ErrorMessage error={error} />
    </>
  );
}
