import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { "@": new URL("./src", import.meta.url).pathname } },
  build: {
    outDir: process.env.CONSOLE_OUT ?? "../api/console",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1200,
  },
  // `npm run dev` against a server that was started with `make run`.
  server: {
    host: "127.0.0.1",
    // The starters of skills are beside this folder.
    fs: { allow: [".."] },
    proxy: Object.fromEntries(
      ["/api", "/agent", "/readyz", "/docs", "/openapi.json"].map((path) => [
        path,
        process.env.AGENTEX_URL ?? "http://127.0.0.1:8000",
      ]),
    ),
  },
  test: { environment: "node", include: ["src/**/*.test.ts", "src/**/*.test.tsx"] },
});
