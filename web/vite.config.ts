import { defineConfig } from "vitest/config";

// The server that `npm run dev` forwards API requests to.
const server = process.env.LAKEJOIN_SERVER ?? "http://127.0.0.1:8765";

export default defineConfig({
  base: "/",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../src/lakejoin/server/page",
    emptyOutDir: true,
    license: { fileName: "licenses.md" }, // of bundled packages; shipped in the wheel
    target: "es2022",
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
  },
  // The server accepts POST requests only from its own origin.
  server: {
    proxy: {
      "/api": {
        target: server,
        changeOrigin: true,
        configure: (proxy) => proxy.on("proxyReq", (request) => request.setHeader("origin", server)),
      },
    },
  },
  test: { include: ["tests/**/*.test.ts"], environment: "node" },
});
