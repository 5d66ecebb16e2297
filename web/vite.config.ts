// The dashboard: one page, its script and its style, into the Python package.
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import { cssOptions } from "./cssOptions.ts";
import { precompress } from "./precompress.ts";
import { serviceWorkerFile } from "./serviceWorkerFile.ts";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  base: "/",
  resolve: { alias: { "@": here("src") } },
  css: cssOptions,
  plugins: [precompress(), serviceWorkerFile()],
  build: {
    outDir: here("../sojourn/dashboard/static"),
    emptyOutDir: true,
    assetsInlineLimit: 0, // the content policy allows files of our own, nothing inline
    modulePreload: { polyfill: false },
    sourcemap: false,
    rollupOptions: {
      input: [here("index.html"), here("diagram-frame.html")],
      // What every page needs is one file beside the entry: each further one is a request more before the first paint.
      output: {
        codeSplitting: { groups: [{ name: "shared", test: /node_modules\/(react|scheduler)\/|src\/api\/http\.ts$/ }] },
      },
    },
    target: "es2022",
  },
});
