// Writes the service worker, with the files that the shell of the pages is made of: those the document names.
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Plugin } from "vite";

export function serviceWorkerFile(): Plugin {
  return {
    name: "service-worker-file",
    apply: "build",
    async writeBundle(options) {
      const folder = options.dir ?? "";
      const document = await readFile(join(folder, "index.html"), "utf-8");
      const files = ["/", ...new Set(document.match(/\/assets\/[\w.-]+/g))];
      const version = createHash("sha256").update(document).digest("hex").slice(0, 16);
      const source = await readFile(new URL("src/offline/serviceWorker.js", import.meta.url), "utf-8");
      const filled = source.replace('["SHELL_FILES"]', JSON.stringify(files)).replace("SHELL_VERSION", version);
      await writeFile(join(folder, "service-worker.js"), filled);
    },
  };
}
