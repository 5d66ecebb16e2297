// Unit tests of what needs no browser.
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { alias: { "@": fileURLToPath(new URL("src", import.meta.url)) } },
  test: { include: ["tests/*.test.ts"], pool: "threads" },
});
