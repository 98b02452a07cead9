import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";

// Workspace packages resolve to their source; the rest are Vite's own defaults, which a list of ours replaces.
const conditions = ["@durable-mcp/source", "module", "node", "development|production"];

type TestOptions = NonNullable<TestProjectInlineConfiguration["test"]>;

/** The tests of one package, beside its source: `*.test.ts` and, checked by `tsc`, `*.test-d.ts`. */
function project(name: string, options: TestOptions = {}): TestProjectInlineConfiguration {
  return {
    root: `packages/${name}`,
    resolve: { conditions },
    ssr: { resolve: { conditions } },
    test: {
      name,
      include: ["src/**/*.test.ts"],
      maxWorkers: "100%",
      // Type errors elsewhere are for `npm run typecheck` to report.
      typecheck: { enabled: true, include: ["src/**/*.test-d.ts"], ignoreSourceErrors: true },
      ...options,
    },
  };
}

/** Real servers, browsers and processes: after the units, alone, two files at a time. */
const realServers: TestOptions = {
  pool: "forks",
  maxWorkers: 2,
  sequence: { groupOrder: 1 },
  testTimeout: 120_000,
  hookTimeout: 120_000,
  typecheck: { enabled: false },
};

/** The engine loads what it has built by itself, past Vite. */
const ofTheEngine: TestOptions = {
  ...realServers,
  execArgv: ["--conditions=@durable-mcp/source"],
};

export default defineConfig({
  test: {
    projects: [
      project("core", { include: ["{src,test}/**/*.test.ts"] }),
      project("ai-sdk"),
      project("stores", realServers),
      project("server"),
      project("workflow", ofTheEngine),
      project("e2e/workflow-5", ofTheEngine),
      project("e2e", realServers),
      project("examples", realServers),
      project("examples/workflow", ofTheEngine),
    ],
    // .ci/run counts the tests from this report.
    reporters: process.env["CI"]
      ? ["default", ["json", { outputFile: "reports/vitest.json" }]]
      : ["default"],
  },
});
