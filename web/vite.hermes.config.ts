// The achievements page as a classic script with the host's React, for a Hermes dashboard.
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";
import { cssOptions } from "./cssOptions.ts";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
// Put in front of the built files, because minifiers drop comments.
const CREDIT =
  "/*! Original plugin: hermes-achievements by PCinkusz, MIT, https://github.com/PCinkusz/hermes-achievements */\n/*! Achievements, counted by Sojourn; built from web/src/achievements. */\n";
const credit: Plugin = {
  name: "credit",
  enforce: "post",
  generateBundle(_, bundle) {
    for (const file of Object.values(bundle)) {
      if (file.type === "chunk") file.code = CREDIT + file.code;
      else if (file.fileName.endsWith(".css")) file.source = CREDIT + String(file.source);
    }
  },
};

export default defineConfig({
  plugins: [credit],
  resolve: {
    alias: [
      { find: "react/jsx-runtime", replacement: here("src/hermes/jsxRuntimeShim.ts") },
      { find: /^react$/, replacement: here("src/hermes/reactShim.ts") },
      { find: "@/components/Icon", replacement: here("src/hermes/Icon.tsx") },
      { find: "@", replacement: here("src") },
    ],
  },
  define: { "process.env.NODE_ENV": '"production"' },
  css: cssOptions,
  publicDir: false,
  build: {
    outDir: here("../sojourn/achievements/dropin/dist"),
    emptyOutDir: false,
    target: "es2022",
    lib: {
      entry: here("src/hermes/plugin.tsx"),
      formats: ["iife"],
      name: "SojournAchievements",
      fileName: () => "index.js",
      cssFileName: "style",
    },
  },
});
