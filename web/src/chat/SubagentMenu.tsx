import { useEffect, useState } from "react";
import { getJson } from "@/api/http";
import type { Session } from "@/api/types";
import { useMessages } from "@/chat/messages";
import { Menu } from "@/components/Menu";
import { navigate } from "@/router";
import { getSessionLabel, getSessionUrl } from "@/sessions/sessionLinks";

const SHOWN = 20;

/** The sessions that an agent gave to sub-agents, to open. */
export function SubagentMenu({ session }: { session: Session }) {
  const { t } = useMessages();
  const [children, setChildren] = useState<Session[]>([]);
  useEffect(() => {
    const controller = new AbortController();
    const url = `/api/sessions?parent=${encodeURIComponent(session.id)}&archived=any&limit=${SHOWN}`;
    getJson<{ sessions: Session[] }>(url, controller.signal).then(
      (page) => setChildren(page.sessions.filter((child) => !child.branched_from)),
      () => undefined,
    );
    return () => controller.abort();
  }, [session.id, session.message_count]);
  if (!children.length) return null;
  return (
    <Menu
      label={t("chat.subagents", { n: children.length })}
      icon="branch"
      entries={children.map((child) => ({
        label: getSessionLabel(child),
        icon: "bot",
        run: () => navigate(getSessionUrl(child.id)),
      }))}
    />
  );
}
