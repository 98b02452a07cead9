import { defineConfig } from "vitest/config";

// No source condition here: benchmarks measure the built packages.
export default defineConfig({});
