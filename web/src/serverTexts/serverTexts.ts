// Translations of what the server says. It sends English; a text that has an id is found by it (a badge, a setting, an error
// code), any other one by its English sentence. What has no translation stays English.
import { createContext, useContext } from "react";
import { ApiError } from "@/api/http";
import type chineseBadges from "./zh/badges.json";

type Pair = string[]; // a name and its explanation, or what happened and what to do

export interface ServerTexts {
  badges: typeof chineseBadges;
  settings: Record<string, Pair>;
  errors: Record<string, Pair>;
  networks: Record<string, Pair>;
  plugins: Record<string, string>;
  commands: Record<string, string>;
  sentences: Record<string, string>; // {name} stands for what varies
  reasons: Record<string, string>; // clauses: "deletes a database"
}

/** Null: the language is English. */
export const ServerTextsContext = createContext<ServerTexts | null>(null);
export const useServerTexts = () => useContext(ServerTextsContext);

/** A function that translates a sentence of the server, or several. */
export function useSentences(): (text: string) => string {
  const texts = useServerTexts();
  return (text) => (texts ? translateText(text, texts) : text);
}

/** An error in the person's language; `original` is the server's own wording, for it names the values. */
export function describeError(error: unknown, texts: ServerTexts | null) {
  const message = error instanceof Error ? error.message : String(error);
  const hint = error instanceof ApiError ? error.hint : "";
  return describeProblem(error instanceof ApiError ? error.code : "", message, hint, texts);
}

export function describeProblem(code: string, message: string, hint: string, texts: ServerTexts | null) {
  const known = texts?.errors[code];
  if (!texts || !known) return { message, hint, original: "" };
  const translated = translateText(message, texts);
  if (translated !== message) return { message: translated, hint: translateText(hint, texts), original: "" };
  return { message: known[0]!, hint: known[1]!, original: `${message} ${hint}`.trim() };
}

const templates = new WeakMap<Record<string, string>, Array<[RegExp, string]>>();

/** The sentences with placeholders, the longest first. */
function getTemplates(table: Record<string, string>): Array<[RegExp, string]> {
  const known =
    templates.get(table) ??
    Object.entries(table)
      .filter(([english]) => /\{\w+\}/.test(english))
      .sort(([a], [b]) => b.length - a.length)
      .map(toPattern);
  templates.set(table, known);
  return known;
}

function toPattern([english, translated]: [string, string]): [RegExp, string] {
  const escaped = english.replace(/[.*+?^$()[\]\\|]/g, "\\$&");
  return [new RegExp(`^${escaped.replace(/\{(\w+)\}/g, "(?<$1>.+)")}$`, "su"), translated];
}

function translateWith(text: string, table: Record<string, string>, texts: ServerTexts): string | undefined {
  if (Object.hasOwn(table, text)) return table[text];
  for (const [pattern, translated] of getTemplates(table)) {
    const found = pattern.exec(text)?.groups;
    if (found) return translated.replace(/\{(\w+)\}/g, (_, name: string) => translateText(found[name]!, texts));
  }
  return undefined;
}

/** The whole text if it is known, else sentence by sentence. */
export function translateText(text: string, texts: ServerTexts): string {
  const whole = translateWith(text, texts.sentences, texts) ?? translateWith(text, texts.reasons, texts);
  if (whole !== undefined && !/[.?!] [A-Z]/.test(text)) return whole;
  const sentences = text.split(/(?<=[.?!]) (?=[A-Z])/);
  if (sentences.length === 1) return whole ?? translateReasons(text, texts) ?? text;
  const parts = sentences.map((one) => translateWith(one, texts.sentences, texts) ?? translateReasons(one, texts));
  if (parts.every((part) => part === undefined)) return whole ?? text;
  return parts.map((part, index) => part ?? sentences[index]!).join("");
}

/** "It deletes a database; it stops the machine.", "A shell runs it." and "it has “x”; its meaning is near". */
function translateReasons(sentence: string, texts: ServerTexts): string | undefined {
  const clauses = sentence
    .replace(/\.$/, "")
    .replace(/^It /, "")
    .split(/; (?:it )?/);
  const parts = clauses.map((clause) => {
    const plain = clause.charAt(0).toLowerCase() + clause.slice(1);
    return (
      translateWith(clause, texts.reasons, texts) ??
      translateWith(plain, texts.reasons, texts) ??
      translateWith(clause, texts.sentences, texts)
    );
  });
  if (parts.some((part) => part === undefined)) return undefined;
  const text = parts.join("；");
  return sentence.startsWith("It ") ? `它${text}。` : sentence.endsWith(".") ? `${text}。` : text;
}
