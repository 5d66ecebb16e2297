// The words the pages use for the API's types.
import type { MessageSchema } from "@/api/schema";

export type {
  ChatCommandShape as ChatCommand,
  CommandAnswer,
  HistorySchema as FoundHistory,
  HitSchema as SearchHit,
  ListedSession as Session,
  RuntimeSchema as RuntimeInfo,
  StatsSchema as StoreStats,
} from "@/api/schema";

export type Message = Omit<MessageSchema, "parts" | "extra"> & {
  parts?: Array<Record<string, unknown>> | null;
  extra?: { internal?: boolean } | null;
};
