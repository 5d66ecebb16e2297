// Writes each script and style a second and third time, compressed, so that the server only picks one.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import type { Plugin } from "vite";

const SMALLEST_BYTES = 1024;
const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };

export function precompress(): Plugin {
  return {
    name: "precompress",
    apply: "build",
    async writeBundle(options, bundle) {
      for (const [name, file] of Object.entries(bundle)) {
        const content = Buffer.from(file.type === "chunk" ? file.code : file.source);
        if (content.length < SMALLEST_BYTES || !/\.(js|css|svg|html)$/.test(name)) continue;
        const place = join(options.dir ?? "", name);
        await writeFile(`${place}.br`, brotliCompressSync(content, quality));
        await writeFile(`${place}.gz`, gzipSync(content, { level: 9 }));
      }
    },
  };
}
