import { defineMessages, type KeyOf } from "@/i18n";
import en from "./en.json";
import zh from "./zh.json";

export const useMessages = defineMessages(en, zh);
export type MessageKey = KeyOf<typeof en>;
