import type { Language } from "@/i18n";

/** A date in the person's language; nothing for no date. `seconds` are Unix seconds. */
export const formatDay = (seconds: number, language: Language): string =>
  seconds
    ? new Date(seconds * 1000).toLocaleDateString(language === "zh" ? "zh-CN" : undefined, { dateStyle: "medium" })
    : "";
