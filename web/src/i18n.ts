// Translations, and numbers and times in the person's language: the chosen one, else the browser's.
import { createContext, useContext } from "react";
import en from "@/messages/en.json";
import zh from "@/messages/zh.json";

export type Language = "en" | "zh";
export type CommonKey = keyof typeof en;
export type KeyOf<Messages> = (keyof Messages & string) | CommonKey;
export type Values = Record<string, string | number>;
export type Translate<Key extends string = CommonKey> = (key: Key, values?: Values) => string;
interface I18n<Key extends string> {
  t: Translate<Key>;
  language: Language;
  setLanguage: (language: Language) => void;
}

export const LANGUAGES: Record<Language, string> = { en: "English", zh: "中文" };

export function getLanguage(): Language {
  const stored = localStorage.getItem("sojourn.language");
  if (stored === "en" || stored === "zh") return stored;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

/** Fills in a message's placeholders: `{n}` is a value, `{n|day|days}` the first text if the value is 1, else the second. */
export function fillMessage(message: string, values: Values = {}): string {
  return message.replace(/\{(\w+)(?:\|([^|}]*)\|([^|}]*))?\}/g, (whole, name: string, one?: string, many?: string) => {
    if (!(name in values)) return whole;
    const value = String(values[name]);
    return one === undefined || many === undefined ? value : value === "1" ? one : many;
  });
}

function buildTranslator<Key extends string>(messages: Partial<Record<string, string>>): Translate<Key> {
  return (key, values) => fillMessage(messages[key] ?? key, values);
}

const COMMON: Record<Language, Record<CommonKey, string>> = { en, zh };
export const buildCommonTranslator = (language: Language): Translate => buildTranslator(COMMON[language]);

export const I18nContext = createContext<I18n<CommonKey>>({
  t: buildCommonTranslator("en"),
  language: "en",
  setLanguage: () => undefined,
});

/** The language, and the texts that several pages share. */
export const useI18n = () => useContext(I18nContext);

/** A hook for the texts of one folder, besides the shared ones. A missing translation does not compile. */
export function defineMessages<Messages extends Record<string, string>>(
  inEnglish: Messages,
  inChinese: Record<keyof Messages, string>,
) {
  type Key = KeyOf<Messages>;
  const translators: Record<Language, Translate<Key>> = {
    en: buildTranslator({ ...COMMON.en, ...inEnglish }),
    zh: buildTranslator({ ...COMMON.zh, ...inChinese }),
  };
  return (): I18n<Key> => {
    const { language, setLanguage } = useContext(I18nContext);
    return { t: translators[language], language, setLanguage };
  };
}

export const formatNumber = (value: number, language: Language): string =>
  value.toLocaleString(language === "zh" ? "zh-CN" : "en-US");

/** ISO 8601 text or Unix seconds; the API uses both. */
type Time = string | number | null | undefined;
const toDate = (time: string | number): Date => new Date(typeof time === "number" ? time * 1000 : time);

export function formatDateTime(time: Time, language: Language): string {
  if (!time) return "";
  return toDate(time).toLocaleString(language === "zh" ? "zh-CN" : undefined, {
    dateStyle: "medium",
    timeStyle: "short",
  });
}

/** The time of day; with the date if that is not today's. */
export function formatTime(time: Time, language: Language): string {
  if (!time) return "";
  const date = toDate(time);
  const isToday = date.toDateString() === new Date().toDateString();
  const locale = language === "zh" ? "zh-CN" : undefined;
  return date.toLocaleString(locale, isToday ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" });
}

const UNIT_SECONDS: Array<[Intl.RelativeTimeFormatUnit, number]> = [
  ["year", 31536000],
  ["month", 2592000],
  ["day", 86400],
  ["hour", 3600],
  ["minute", 60],
];

export function formatRelativeTime(time: Time, language: Language): string {
  if (!time) return "";
  const seconds = (toDate(time).getTime() - Date.now()) / 1000;
  const format = new Intl.RelativeTimeFormat(language === "zh" ? "zh-CN" : "en", { numeric: "auto", style: "short" });
  for (const [unit, size] of UNIT_SECONDS)
    if (Math.abs(seconds) >= size) return format.format(Math.round(seconds / size), unit);
  return format.format(0, "second");
}
