import { useState } from "react";
import { sendJson } from "@/api/http";
import { storePageKey } from "@/api/pageKey";
import { useMessages } from "@/app/messages";

export function SignIn() {
  const { t } = useMessages();
  const [token, setToken] = useState("");
  const [error, setError] = useState("");
  const signIn = async () => {
    try {
      const { page_key } = await sendJson<{ page_key: string }>("POST", "/enter", { token });
      storePageKey(page_key);
      location.reload();
    } catch (problem) {
      setError(problem instanceof Error ? problem.message : String(problem));
    }
  };
  return (
    <main className="sign-in">
      <form
        className="card"
        onSubmit={(event) => {
          event.preventDefault();
          void signIn();
        }}
      >
        <img src="/assets/icon.svg" alt="" width="48" height="48" />
        <h1>{t("signin.title")}</h1>
        <p className="dim">
          {t("signin.hint")} <code>sojourn dashboard</code>
        </p>
        <label htmlFor="token">{t("signin.token")}</label>
        <input
          id="token"
          type="password"
          autoComplete="current-password"
          value={token}
          onChange={(event) => setToken(event.target.value)}
        />
        {error && (
          <p className="problem-text" role="alert">
            {error}
          </p>
        )}
        <button className="button primary" disabled={!token}>
          {t("signin.submit")}
        </button>
      </form>
    </main>
  );
}
