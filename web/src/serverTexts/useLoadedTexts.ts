import { useEffect, useState } from "react";
import type { Language } from "@/i18n";
import type { ServerTexts } from "@/serverTexts/serverTexts";

/** The translations for a language; null for English, and until they have arrived. */
export function useLoadedTexts(language: Language): ServerTexts | null {
  const [chinese, setChinese] = useState<ServerTexts | null>(null);
  useEffect(() => {
    if (language === "zh") void import("./zh/index").then((module) => setChinese(module.default));
  }, [language]);
  return language === "zh" ? chinese : null;
}
