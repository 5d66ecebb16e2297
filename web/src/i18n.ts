// Words on screen come from message files; the language is the browser's, or the one that was chosen.
import { createContext, useContext } from "react";
import en from "@/messages/en.json";
import zh from "@/messages/zh.json";

export type Language = "en" | "zh";
export type Key = keyof typeof en;
export type Translate = (key: Key, values?: Record<string, string | number>) => string;

const MESSAGES: Record<Language, Partial<Record<Key, string>>> = { en, zh };
export const LANGUAGES: Record<Language, string> = { en: "English", zh: "中文" };

export function chosenLanguage(): Language {
  const kept = localStorage.getItem("sojourn.language");
  if (kept === "en" || kept === "zh") return kept;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export function translator(language: Language): Translate {
  return (key, values = {}) =>
    (MESSAGES[language][key] ?? en[key] ?? key).replace(/\{(\w+)\}/g, (whole, name: string) =>
      name in values ? String(values[name]) : whole,
    );
}

export const Words = createContext<{ t: Translate; language: Language; choose: (language: Language) => void }>({
  t: translator("en"),
  language: "en",
  choose: () => undefined,
});

export const useWords = () => useContext(Words);

export const count = (value: number, language: Language): string => value.toLocaleString(language === "zh" ? "zh-CN" : "en-US");

export function moment(iso: string | null | undefined, language: Language): string {
  if (!iso) return "";
  return new Date(iso).toLocaleString(language === "zh" ? "zh-CN" : undefined, { dateStyle: "medium", timeStyle: "short" });
}

const STEPS: Array<[Intl.RelativeTimeFormatUnit, number]> = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60]];

export function ago(iso: string | null | undefined, language: Language): string {
  if (!iso) return "";
  const seconds = (Date.parse(iso) - Date.now()) / 1000;
  const format = new Intl.RelativeTimeFormat(language === "zh" ? "zh-CN" : "en", { numeric: "auto", style: "short" });
  for (const [unit, size] of STEPS) if (Math.abs(seconds) >= size) return format.format(Math.round(seconds / size), unit);
  return format.format(0, "second");
}
