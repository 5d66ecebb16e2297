// The five events of a turn, and the transcript's messages between them. Unknown events are ignored.
import type { ProgressData } from "@/api/schema";
import type { Message } from "@/api/types";

export interface Task {
  id: string;
  title: string;
  needs: string[];
  state: string;
  why?: string;
}

export interface ApprovalQuestion {
  question: string;
  text: string;
  tool?: string;
  detail?: unknown;
  sha256?: string;
  choices: string[];
  dangerous?: boolean;
  scope?: string;
  seconds?: number;
}

interface EventFields {
  at?: string;
  turn_id?: string;
}

export type ChatEvent = { seq: number } & (
  | ({ name: "metadata"; session_id: string; runtime: string; model: string } & EventFields)
  | ({ name: "progress" } & ProgressData & EventFields)
  | ({ name: "chunk"; text: string } & EventFields)
  | ({ name: "error"; code: string; message: string; hint: string; retryable: boolean } & EventFields)
  | ({ name: "done"; status: string; usage: Record<string, unknown> } & EventFields)
  | ({ name: "message"; message: Message } & EventFields)
);

const EVENT_NAMES = ["metadata", "progress", "chunk", "error", "done"];

export function parseEvent(name: string, seq: number, data: string): ChatEvent | null {
  const fields = JSON.parse(data) as Record<string, unknown>;
  if (name === "message")
    return {
      name: "message",
      seq,
      message: fields as unknown as Message,
      turn_id: fields["turn_id"] as string | undefined,
    };
  return EVENT_NAMES.includes(name) ? ({ name, seq, ...fields } as unknown as ChatEvent) : null;
}
