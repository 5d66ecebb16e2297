// One question asked of two models: two sessions that begin alike, each with an answer of its own. Neither changes the session
// they come from.
import { conversationApi, type TurnRequest } from "@/chat/conversationApi";
import { storeTurnOptions } from "@/chat/useTurnOptions";
import type { ModelChoice } from "@/compare/modelChoices";
import { getSessionUrl } from "@/sessions/sessionLinks";

export type Question = Pick<TurnRequest, "message" | "attachments">;

/** Where the two sessions come from: a session up to a log number, or nothing at all. */
export interface Origin {
  session: string; // "" for a new conversation
  at: number;
}

/** Asks both and returns the address that shows them beside each other. */
export async function startComparison(
  origin: Origin,
  question: Question,
  files: File[],
  choices: [ModelChoice, ModelChoice],
): Promise<string> {
  const [left, right] = await Promise.all(choices.map((choice) => ask(origin, question, files, choice)));
  return getComparisonUrl(left!, right!);
}

export const getComparisonUrl = (left: string, right: string): string =>
  `${getSessionUrl(left)}?beside=${encodeURIComponent(right)}`;

async function ask(origin: Origin, question: Question, files: File[], choice: ModelChoice): Promise<string> {
  const { runtime, model } = choice;
  const made = origin.session
    ? await conversationApi.branchSession(origin.session, origin.at)
    : await conversationApi.createSession(runtime, model);
  const attachments = [...question.attachments, ...(await conversationApi.uploadAll(made.id, files, () => undefined))];
  storeTurnOptions(made.id, { runtime, model, template: "" }); // who goes on there
  await conversationApi.startTurn(made.id, { message: question.message, attachments, runtime, model, template: "" });
  return made.id;
}
