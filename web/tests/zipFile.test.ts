import { describe, expect, it } from "vitest";
import { buildFileNames, buildZip, computeCrc32 } from "@/bulk/zipFile";

const encode = (text: string) => new TextEncoder().encode(text);

describe("zip files", () => {
  it("carry the checksum that the format asks for", () => {
    expect(computeCrc32(encode("123456789"))).toBe(0xcbf43926);
  });

  it("hold each text and a directory that leads to it", async () => {
    const blob = buildZip([
      { name: "a.md", content: encode("one") },
      { name: "会.md", content: encode("two") },
    ]);
    const bytes = new Uint8Array(await blob.arrayBuffer());
    const view = new DataView(bytes.buffer);
    const end = bytes.length - 22;
    expect(view.getUint32(end, true)).toBe(0x06054b50);
    expect(view.getUint16(end + 10, true)).toBe(2);
    let at = view.getUint32(end + 16, true);
    const found = [0, 1].map(() => {
      expect(view.getUint32(at, true)).toBe(0x02014b50);
      const size = view.getUint32(at + 24, true);
      const nameSize = view.getUint16(at + 28, true);
      const local = view.getUint32(at + 42, true);
      expect(view.getUint32(local, true)).toBe(0x04034b50);
      const start = local + 30 + view.getUint16(local + 26, true);
      const name = new TextDecoder().decode(bytes.slice(at + 46, at + 46 + nameSize));
      at += 46 + nameSize;
      return [name, new TextDecoder().decode(bytes.slice(start, start + size))];
    });
    expect(found).toEqual([
      ["a.md", "one"],
      ["会.md", "two"],
    ]);
  });

  it("have names that lead nowhere else and do not repeat", () => {
    expect(buildFileNames(["../../etc/passwd", "a", "A", "", "..\\x"], "md")).toEqual([
      ".._.._etc_passwd.md",
      "a.md",
      "A-2.md",
      "session.md",
      ".._x.md",
    ]);
  });
});
