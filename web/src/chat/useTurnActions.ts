import { useMemo } from "react";
import type { TurnView } from "@/chat/chatView";
import { conversationApi } from "@/chat/conversationApi";
import { startComparison } from "@/compare/comparison";
import type { ModelChoice } from "@/compare/modelChoices";
import { navigate } from "@/router";
import { getSessionUrl } from "@/sessions/sessionLinks";

export interface TurnActions {
  /** Asks the same again in a branch: a session of its own that begins before this request. */
  retry: (turn: TurnView) => void;
  /** Asks the same again in this session, as long as nothing was answered. */
  askAgain: (turn: TurnView) => void;
  /** The same with other words. */
  resend: (turn: TurnView, text: string) => void;
  /** A session of its own that holds everything up to this answer. */
  branch: (turn: TurnView) => void;
  /** Asks the same of two models, each in a branch that begins before this request, and shows both. */
  compare: (turn: TurnView, choices: [ModelChoice, ModelChoice]) => Promise<void>;
  /** Leaves the message that a link led to, for the end. */
  leaveAnchor: () => void;
}

export function useTurnActions(id: string, report: (problem: unknown) => void): TurnActions {
  return useMemo(() => {
    const run = (work: () => Promise<string>) => {
      work().then((branch) => navigate(getSessionUrl(branch)), report);
    };
    const ask = (session: string, turn: TurnView, text: string) =>
      conversationApi.startTurn(session, {
        message: text,
        attachments: listFiles(turn),
        runtime: "",
        model: "",
        template: "",
      });
    const resend = (turn: TurnView, text: string) =>
      run(async () => {
        const request = turn.userMessage!;
        const made = await conversationApi.branchSession(id, request.seq - 1);
        await ask(made.id, turn, text);
        return made.id;
      });
    return {
      resend,
      askAgain: (turn) => void ask(id, turn, turn.userMessage?.content ?? "").catch(report),
      retry: (turn) => resend(turn, turn.userMessage?.content ?? ""),
      branch: (turn) => run(async () => (await conversationApi.branchSession(id, findLastSeq(turn))).id),
      compare: async (turn, choices) => {
        const { seq, content } = turn.userMessage!;
        const question = { message: content ?? "", attachments: listFiles(turn) };
        navigate(await startComparison({ session: id, at: seq - 1 }, question, [], choices));
      },
      leaveAnchor: () => navigate(getSessionUrl(id), true),
    };
  }, [id, report]);
}

const findLastSeq = (turn: TurnView): number =>
  Math.max(
    turn.userMessage?.seq ?? 0,
    ...turn.parts.map((part) => Math.max(part.seq, part.kind === "tool" ? part.resultSeq : 0)),
  );

const listFiles = (turn: TurnView) =>
  (turn.userMessage?.parts ?? [])
    .filter((part) => typeof part["hash"] === "string")
    .map((part) => ({ hash: String(part["hash"]), name: String(part["name"] ?? ""), media_type: "", size: 0 }));
