import { useState } from "react";
import { sendJson } from "@/api/http";
import { forgetPageKey } from "@/api/pageKey";
import { ErrorMessage } from "@/components/ErrorMessage";
import { useMessages } from "@/settings/messages";

export function SignOutButton() {
  const { t } = useMessages();
  const [error, setError] = useState<unknown>(null);
  const signOut = () =>
    sendJson("POST", "/api/leave").then(() => {
      forgetPageKey();
      location.reload();
    }, setError);
  return (
    <>
      <ErrorMessage error={error} />
      <button className="button" onClick={() => void signOut()}>
        {t("settings.signout")}
      </button>
    </>
  );
}
