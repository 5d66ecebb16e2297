// The five events of a turn, and the rows of the transcript between them. Stages that are not known are passed over.
import type { ProgressData } from "@/api/progress";
import type { Message } from "@/api/types";

export interface Task {
  id: string;
  title: string;
  needs: string[];
  state: string;
  why?: string;
}

export interface Question {
  question: string;
  text: string;
  tool?: string;
  detail?: unknown;
  choices: string[];
  dangerous?: boolean;
}

interface Common {
  at?: string;
  turn_id?: string;
}

export type ChatEvent = { seq: number } & (
  | ({ name: "metadata"; session_id: string; runtime: string; model: string } & Common)
  | ({ name: "progress" } & ProgressData & Common)
  | ({ name: "chunk"; text: string } & Common)
  | ({ name: "error"; code: string; message: string; hint: string; retryable: boolean } & Common)
  | ({ name: "done"; status: string; usage: Record<string, unknown> } & Common)
  | ({ name: "message"; message: Message } & Common)
);

const NAMES = ["metadata", "progress", "chunk", "error", "done"];

export function decode(name: string, seq: number, data: string): ChatEvent | null {
  const fields = JSON.parse(data) as Record<string, unknown>;
  if (name === "message") return { name: "message", seq, message: fields as unknown as Message, turn_id: fields["turn_id"] as string | undefined };
  return NAMES.includes(name) ? ({ name, seq, ...fields } as unknown as ChatEvent) : null;
}
