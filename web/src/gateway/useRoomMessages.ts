import { useEffect, useState } from "react";
import { ApiError, isAbortError } from "@/api/http";
import { gatewayApi, type RoomMessage } from "@/gateway/gatewayApi";

const RECONNECT_MS = 1000; // before a broken stream is opened again
const REREAD_MESSAGES = 40; // the newest are read again after a reconnect: a question may have been answered meanwhile

/** The messages of a room, kept current by its event stream, ordered by number. */
export function useRoomMessages(room: string): { messages: RoomMessage[]; error: unknown } {
  const [messages, setMessages] = useState<RoomMessage[]>([]);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    const controller = new AbortController();
    const byNumber = new Map<number, RoomMessage>();
    setMessages([]);
    setError(null);
    const followMessages = async () => {
      let last = 0;
      while (!controller.signal.aborted) {
        try {
          for await (const message of gatewayApi.streamMessages(
            room,
            Math.max(0, last - REREAD_MESSAGES),
            controller.signal,
          )) {
            byNumber.set(message.n, message);
            last = Math.max(last, message.n);
            setMessages([...byNumber.values()].sort((a, b) => a.n - b.n));
            setError(null);
          }
        } catch (problem) {
          if (isAbortError(problem) || controller.signal.aborted) return;
          setError(problem);
          if (problem instanceof ApiError && problem.status >= 400 && problem.status < 500) return;
        }
        await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
      }
    };
    void followMessages();
    return () => controller.abort();
  }, [room]);
  return { messages, error };
}
