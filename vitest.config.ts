import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// Workspace packages resolve to their source; the rest are Vite's own defaults, which a list of ours replaces.
const allConditions = ["@durable-mcp/source", "module", "node", "development|production"];
/** The modules of AWS's client name no files: only bundlers can resolve them, and Node, which loads it, cannot. */
const withoutModules = allConditions.filter((condition) => condition !== "module");

type TestOptions = NonNullable<TestProjectInlineConfiguration["test"]>;

/**
 * Tests of several packages, beside their source. (`npm run typecheck` checks `*.test-d.ts`, as all files.) Few
 * projects, for each compiles what it imports and has processes of its own. Files share these and what they import: a
 * file that replaces a module or a global puts it back.
 */
function project(
  name: string,
  options: TestOptions,
  root = "packages",
): TestProjectInlineConfiguration {
  const conditions = name === "processes" ? withoutModules : allConditions;
  return {
    root,
    resolve: { conditions },
    ssr: { resolve: { conditions } },
    test: {
      name,
      isolate: false,
      // More than there are cores: these tests wait for a third of their time, for timers and sockets.
      maxWorkers: availableParallelism() * 3,
      // For a machine that is busy with other work as well; a test that hangs fails all the same.
      testTimeout: 30_000,
      expect: { poll: { timeout: 20_000 } },
      ...options,
    },
  };
}

/** What only `npm run lab -- matrix` runs. */
const inMatrix = "**/*.matrix.test.ts";
const allTests = "**/*.test.ts";

/** @returns the files with these names in the sources and the test code of some packages, as patterns. */
const filesOf = (packages: readonly string[], files: string) =>
  packages.map((name) => `${name}/{src,test}/${files}`);

const unitPackages = [
  "core",
  "sessions",
  "ai-sdk",
  "langchain",
  "openai-agents",
  "gateway",
  "oauth",
  "cli",
  "server",
  "testing",
  "benchmarks",
];
const processPackages = ["stores", "e2e", "examples"];
/** Durable engines, whose long files mostly wait. */
const enginePackages = ["workflow", "e2e/workflow-5", "examples/workflow", "examples/eve"];

/** Run before the tests of a project, in the process that starts the others. */
const compileOnce = fileURLToPath(
  new URL("packages/e2e/src/processes/compile-once.ts", import.meta.url),
);

const units: TestOptions = {
  globalSetup: [compileOnce],
  // Its `@opentelemetry/api` 1.9 has modules that only a bundler can resolve.
  server: { deps: { inline: [/@ai-sdk\/otel/, /@opentelemetry\/api/] } },
};

const bundlePrograms = fileURLToPath(
  new URL("packages/e2e/src/processes/bundle-programs.ts", import.meta.url),
);
const buildWorkflowApp = fileURLToPath(
  new URL("packages/workflow/test/build-for-tests.ts", import.meta.url),
);

/** Real servers, browsers and processes: after the units, alone. Four files at a time, for they wait for half of their time. */
const realServers: TestOptions = {
  pool: "forks",
  isolate: false,
  maxWorkers: 4,
  globalSetup: [compileOnce, bundlePrograms],
  sequence: { groupOrder: 1 },
  testTimeout: 120_000,
  hookTimeout: 120_000,
};

/** The engine loads what it has built by itself, past Vite. */
const ofEngines: TestOptions = {
  ...realServers,
  globalSetup: [compileOnce, buildWorkflowApp],
  execArgv: ["--conditions=@durable-mcp/source"],
};

/** With a document, without a browser. */
const inPage: TestOptions = {
  environment: "happy-dom",
  // The servers of the tests are of other origins.
  environmentOptions: { happyDOM: { settings: { fetch: { disableSameOriginPolicy: true } } } },
  include: ["src/**/*.test.{ts,tsx}"],
  expect: { poll: { timeout: 20_000, interval: 5 } },
};

/** `npm test` has one file for each promise. The matrix runs all of them, with every server and every client. */
const promises = [
  "one-session-over-three-processes",
  "server-restart",
  "request-ids",
  "forgotten-sessions",
];
const otherSessions = `e2e/src/sessions/!(${promises.join("|")}).test.ts`;
/** The tests that a guide shows: each of their steps is a process which runs the sources. */
const ownTests = "examples/src/testing/*.test.ts";

const projects = [
  project("units", { ...units, include: filesOf(unitPackages, allTests), exclude: [inMatrix] }),
  project("react", inPage, "packages/react"),
  project("engines", {
    ...ofEngines,
    include: filesOf(enginePackages, allTests),
    exclude: [inMatrix],
  }),
  project("processes", {
    ...realServers,
    include: filesOf(processPackages, allTests),
    exclude: [inMatrix, otherSessions, ownTests],
  }),
];

/** What `npm run lab -- matrix` has and CI leaves to the night: the promises are held by shorter files. */
const atNight = [
  "**/src/demo.matrix.test.ts",
  "examples/src/{agents,chat,dbos,langchain,migrating,news,person,sign-in,studio,task}/*.matrix.test.ts",
  "**/src/{server/{conversions,demo},server-load/load,store/{folder-store,real-stores},timeline/timeline}.matrix.test.ts",
  "**/src/{faults/naive-client,frozen-process}.matrix.test.ts",
  "**/src/gateway/{any-client,{browser,children,named-sessions}.matrix}.test.ts",
  "**/src/authorization/{agent-sign-in,raced-processes}.matrix.test.ts",
  "**/src/waiting/lasting-{clients,servers}.matrix.test.ts",
  "**/src/killed-{answers,sign-ins,step}.matrix.test.ts",
  "**/src/runs/{auto-session,run-scopes-leave-nothing}.matrix.test.ts",
  "**/src/durable/{stored-fetches,two-openers}.matrix.test.ts",
  "**/src/sub-agents/three-processes.matrix.test.ts",
  "**/src/run/{calls-that-last,killed-answers,killed-sign-ins,losses,open-durable-connections,unavailable-connections,waiting-ends}.matrix.test.ts",
  "**/src/{soak,compatibility,frameworks}/**",
  "**/src/{dynamodb,io-redis,libsql,pglite,postgres-drivers,upstash}.matrix.test.ts",
  "**/src/replicas/{calls-in-flight,ending-tasks,tasks}.matrix.test.ts",
  "**/src/sessions/{browser.matrix,server-dies-midway}.test.ts",
  `**/src/sessions/{${promises.join(",")}}.test.ts`,
  "**/src/stdio/*.matrix.test.ts",
  "**/src/server-conformance/two-replicas.matrix.test.ts",
];

/** Every server with every client, every store, and the programs that run for long; or CI's share of them. */
const matrix = (isShare: boolean) => {
  const exclude = isShare ? atNight : [];
  return [
    // With the others: its longest files keep one core each busy.
    project("core and oauth", {
      maxWorkers: realServers.maxWorkers!,
      sequence: realServers.sequence!,
      include: filesOf(["core", "oauth"], inMatrix),
    }),
    // The hooks with AI SDK 6; `npm test` has them with 7.
    project(
      "react-ai-sdk-6",
      { ...inPage, alias: { "@ai-sdk/react": "ai-sdk-react-3", ai: "ai-6" } },
      "packages/react",
    ),
    project("engines", { ...ofEngines, include: filesOf(enginePackages, inMatrix), exclude }),
    project("processes", {
      ...realServers,
      include: [
        ...filesOf(
          [...processPackages, "langchain", "openai-agents", "cli", "benchmarks"],
          inMatrix,
        ),
        "e2e/src/{sessions,replicas,conformance,server-conformance,compatibility}/*.test.ts",
        ownTests,
        "e2e/src/gateway/any-client.test.ts",
      ],
      exclude,
      env: { TEST_MATRIX: isShare ? "" : "1" },
    }),
  ];
};

/** Short files that last long. A run ends with its last file: these begin first, the others by their size. */
const longFiles =
  /(full-store|list-pages|replay|start-step|state-store\.hostile|\.frozen|(broken-parts|chaos|first-record|conformance|faults|killed-at-each-point|killed-steps|schedules)\.matrix)\.test\.ts$/;

class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const ofProjects = Map.groupBy(await super.sort([...files]), (file) => file.project);
    return [...ofProjects.values()].flatMap((own) => [
      ...own.filter(({ moduleId }) => longFiles.test(moduleId)),
      ...own.filter(({ moduleId }) => !longFiles.test(moduleId)),
    ]);
  }
}

export default defineConfig(({ mode }) => ({
  test: {
    sequence: { sequencer: LongFilesFirst },
    projects: mode === "test" ? projects : matrix(mode === "share"),
    // .ci/run counts the tests from these reports.
    reporters: process.env["CI"]
      ? ["default", ["json", { outputFile: `reports/vitest-${mode}.json` }]]
      : ["default"],
  },
}));
