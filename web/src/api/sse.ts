// Server-sent events over fetch: unlike EventSource it can POST, send headers and start from a number.
import { request } from "@/api/http";

export interface Frame {
  id: number | null;
  event: string;
  data: string;
}

/** The frames of one answer, until it ends. Bytes of one letter may come in two pieces; lines may, too. */
export async function* frames(path: string, init: RequestInit): AsyncGenerator<Frame> {
  const answer = await request(path, init);
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      rest += value;
      const blocks = rest.split("\n\n");
      rest = blocks.pop()!;
      for (const block of blocks) {
        const frame = parsed(block);
        if (frame) yield frame;
      }
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

function parsed(block: string): Frame | null {
  const frame: Frame = { id: null, event: "message", data: "" };
  for (const line of block.split("\n")) {
    const at = line.indexOf(":");
    if (at <= 0) continue; // a comment: the line is alive
    const value = line.slice(at + 1).replace(/^ /, "");
    const name = line.slice(0, at);
    if (name === "id") frame.id = Number(value);
    else if (name === "event") frame.event = value;
    else if (name === "data") frame.data += (frame.data ? "\n" : "") + value;
  }
  return frame.data ? frame : null;
}
