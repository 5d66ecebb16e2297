// Server-sent events over fetch, which unlike EventSource can send headers.
import { request } from "@/api/http";

interface SseFrame {
  id: number | null;
  event: string;
  data: string;
}

/** The frames of one response, until it ends. A character or a line may be split between two reads. */
export async function* streamFrames(path: string, init: RequestInit): AsyncGenerator<SseFrame> {
  const response = await request(path, init);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      buffer += value;
      const blocks = buffer.split("\n\n");
      buffer = blocks.pop()!;
      for (const block of blocks) {
        const frame = parseFrame(block);
        if (frame) yield frame;
      }
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

function parseFrame(block: string): SseFrame | null {
  const frame: SseFrame = { id: null, event: "message", data: "" };
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue; // a comment, sent to keep the connection alive
    const value = line.slice(colon + 1).replace(/^ /, "");
    const name = line.slice(0, colon);
    if (name === "id") frame.id = Number(value);
    else if (name === "event") frame.event = value;
    else if (name === "data") frame.data += (frame.data ? "\n" : "") + value;
  }
  return frame.data ? frame : null;
}
