import { defineConfig } from "vitest/config";

// No source condition here: benchmarks measure the built packages.
export default defineConfig({
  test: {
    fileParallelism: false,
    testTimeout: 600_000,
    hookTimeout: 60_000,
    // Other load only ever adds to a figure: one that misses its goal is measured again.
    retry: 2,
    // The tables are the output.
    disableConsoleIntercept: true,
    // Node loads the built packages itself: as an application would, without Vite's rewriting.
    server: { deps: { external: [/\/packages\/[^/]+\/dist\//] } },
  },
});
