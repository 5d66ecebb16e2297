// A ZIP file of texts, without compression: a few files under one name, for any program to open.
export interface ZipEntry {
  name: string;
  content: Uint8Array;
}

const UTF8_NAMES = 0x0800;
const NO_COMPRESSION = 0;
const VERSION = 20;
const FIRST_DAY = 0x21; // 1980-01-01, the earliest that the format knows

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

export function computeCrc32(content: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of content) crc = CRC_TABLE[(crc ^ byte) & 0xff]! ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

/** Numbers in little-endian order, each with its number of bytes. */
function pack(...fields: Array<[value: number, bytes: 2 | 4]>): Uint8Array<ArrayBuffer> {
  const packed = new Uint8Array(fields.reduce((sum, [, bytes]) => sum + bytes, 0));
  const view = new DataView(packed.buffer);
  let at = 0;
  for (const [value, bytes] of fields) {
    if (bytes === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += bytes;
  }
  return packed;
}

export function buildZip(entries: ZipEntry[]): Blob {
  const parts: BlobPart[] = [];
  const directory: Uint8Array<ArrayBuffer>[] = [];
  let offset = 0;
  for (const { name, content } of entries) {
    const label = new TextEncoder().encode(name);
    const about = pack(
      [VERSION, 2],
      [UTF8_NAMES, 2],
      [NO_COMPRESSION, 2],
      [0, 2],
      [FIRST_DAY, 2],
      [computeCrc32(content), 4],
      [content.length, 4],
      [content.length, 4],
      [label.length, 2],
      [0, 2],
    );
    parts.push(pack([0x04034b50, 4]), about, label, content as Uint8Array<ArrayBuffer>);
    directory.push(
      pack([0x02014b50, 4], [VERSION, 2]),
      about,
      pack([0, 2], [0, 2], [0, 2], [0, 4], [offset, 4]),
      label,
    );
    offset += 4 + about.length + label.length + content.length;
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  const count = entries.length;
  const end = pack([0x06054b50, 4], [0, 2], [0, 2], [count, 2], [count, 2], [size, 4], [offset, 4], [0, 2]);
  return new Blob([...parts, ...directory, end], { type: "application/zip" });
}

/** Names of files that no system refuses and none of which comes twice. */
export function buildFileNames(ids: string[], ending: string): string[] {
  const used = new Set<string>();
  return ids.map((id) => {
    const base = id.replace(/[^\w.-]+/g, "_").slice(0, 120) || "session";
    let name = `${base}.${ending}`;
    for (let n = 2; used.has(name.toLowerCase()); n++) name = `${base}-${n}.${ending}`;
    used.add(name.toLowerCase());
    return name;
  });
}
