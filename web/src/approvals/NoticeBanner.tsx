import { useEffect, useState } from "react";
import { sendJson } from "@/api/http";
import { useMessages } from "@/approvals/messages";
import { Icon } from "@/components/Icon";
import css from "./approvals.module.css";

/** What the owner has to be told once. The server gives each notice to the first who asks, so it stays until it is closed. */
export function NoticeBanner() {
  const { t } = useMessages();
  const [notices, setNotices] = useState<string[]>([]);
  useEffect(() => {
    sendJson<{ notices: string[] }>("POST", "/api/notices").then(
      (found) => setNotices((before) => [...before, ...found.notices]),
      () => undefined,
    );
  }, []);
  if (!notices.length) return null;
  return (
    <div className={css.noticeBanner} role="status">
      <div>
        {notices.map((notice) => (
          <p key={notice}>{notice}</p>
        ))}
      </div>
      <button className="ghost" aria-label={t("approvals.close")} onClick={() => setNotices([])}>
        <Icon name="close" />
      </button>
    </div>
  );
}
