import { useEffect, useState } from "react";
import { getJson } from "@/api/http";
import type { ChatCommand, CommandAnswer, Session } from "@/api/types";
import { conversationApi } from "@/chat/conversationApi";
import type { TurnOptions } from "@/chat/useTurnOptions";
import { navigate } from "@/router";
import { getSessionUrl } from "@/sessions/sessionLinks";

export interface ChatCommands {
  list: ChatCommand[];
  answer: CommandAnswer | null;
  find: (text: string) => ChatCommand | null;
  run: (text: string) => Promise<Partial<TurnOptions>>;
  /** The message that a prompt of the person's own stands for; any other text as it is. */
  fill: (text: string) => Promise<string>;
  close: () => void;
}

const getName = (text: string) => /^\/(\S+)/.exec(text.trim())?.[1]?.toLowerCase() ?? "";

/** The chat commands, the same as in the terminal and in chats, and the person's own prompts. A command answers in the page,
 * not in the log; a prompt is a message. */
export function useChatCommands(id: string, refresh: () => void): ChatCommands {
  const [list, setList] = useState<ChatCommand[]>([]);
  const [prompts, setPrompts] = useState<ChatCommand[]>([]);
  const [answer, setAnswer] = useState<CommandAnswer | null>(null);
  useEffect(() => {
    const controller = new AbortController();
    conversationApi.listCommands(controller.signal).then(setList, () => undefined);
    conversationApi.listPrompts(controller.signal).then(setPrompts, () => undefined);
    return () => controller.abort();
  }, []);
  const find = (text: string) => {
    const name = getName(text);
    return name ? (list.find((command) => command.name.replace(/^\//, "") === name) ?? null) : null;
  };
  const run = async (text: string): Promise<Partial<TurnOptions>> => {
    const session = id || (await findAnySession());
    const result = await conversationApi.runCommand(session, text.trim());
    if (result.change === "new") navigate("/chat/new");
    else if (result.change && result.session) navigate(getSessionUrl(result.session));
    setAnswer(result.lines.length || result.rows.length ? result : null);
    refresh();
    return result.choices as Partial<TurnOptions>;
  };
  const fill = async (text: string) => {
    const name = getName(text);
    if (!name || !(await conversationApi.listPrompts()).some((prompt) => prompt.name === name)) return text;
    return conversationApi.fillPrompt(
      name,
      text
        .trim()
        .slice(name.length + 1)
        .trim(),
    );
  };
  return { list: [...list, ...prompts], answer, find, run, fill, close: () => setAnswer(null) };
}

/** A command needs a session; before the first message it is run in one of its own. */
async function findAnySession(): Promise<string> {
  const { sessions } = await getJson<{ sessions: Session[] }>("/api/sessions?limit=1");
  return sessions[0]?.id ?? (await conversationApi.createSession("", "")).id;
}
