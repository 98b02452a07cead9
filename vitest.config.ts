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
 * The tests of one package, beside its source. (`npm run typecheck` checks `*.test-d.ts`, as all files.) Files share
 * workers and what they import: a file that replaces a module or a global puts it back.
 */
function project(name: string, options: TestOptions = {}): TestProjectInlineConfiguration {
  const conditions = ["stores", "e2e"].includes(name) ? withoutModules : allConditions;
  return {
    root: `packages/${name}`,
    resolve: { conditions },
    ssr: { resolve: { conditions } },
    test: {
      name,
      include: ["src/**/*.test.ts"],
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
const inMatrix = ["{src,test}/**/*.matrix.test.ts"];

/** Run before the tests of a project, in the process that starts the others. */
const compileOnce = fileURLToPath(
  new URL("packages/e2e/src/processes/compile-once.ts", import.meta.url),
);
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
  exclude: inMatrix,
  globalSetup: compileOnce,
  sequence: { groupOrder: 1 },
  testTimeout: 120_000,
  hookTimeout: 120_000,
};

/** The engine loads what it has built by itself, past Vite. */
const ofTheEngine: TestOptions = {
  ...realServers,
  execArgv: ["--conditions=@durable-mcp/source"],
};

/** What starts processes; `npm run lab -- matrix` runs other files of the same projects. */
const withProcesses = (options: TestOptions = {}, inE2e: TestOptions = options) => [
  project("workflow", {
    ...ofTheEngine,
    globalSetup: [compileOnce, buildWorkflowApp],
    ...options,
  }),
  project("e2e/workflow-5", { ...ofTheEngine, ...options }),
  project("e2e", { ...realServers, globalSetup: [compileOnce, bundlePrograms], ...inE2e }),
  project("examples", { ...realServers, ...options }),
  project("examples/workflow", { ...ofTheEngine, ...options }),
  project("examples/eve", { ...realServers, ...options }),
];

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
const otherSessions = `src/sessions/!(${promises.join("|")}).test.ts`;

const projects = [
  project("core", { include: ["{src,test}/**/*.test.ts"], exclude: inMatrix }),
  project("ai-sdk", {
    // Its `@opentelemetry/api` 1.9 has modules that only a bundler can resolve.
    server: { deps: { inline: [/@ai-sdk\/otel/, /@opentelemetry\/api/] } },
  }),
  project("langchain", { exclude: inMatrix }),
  project("oauth", { exclude: inMatrix }),
  project("react", inPage),
  // The same with AI SDK 6.
  project("react", {
    ...inPage,
    name: "react-ai-sdk-6",
    alias: { "@ai-sdk/react": "ai-sdk-react-3", ai: "ai-6" },
  }),
  project("cli", { exclude: inMatrix }),
  project("stores", realServers),
  project("server"),
  project("testing"),
  project("benchmarks", { exclude: inMatrix }),
  ...withProcesses({}, { exclude: [...inMatrix, otherSessions] }),
];

/** What `npm run lab -- matrix` has and CI leaves to the night: the promises are held by shorter files. */
const atNight = [
  "src/demo.matrix.test.ts",
  "src/{agents,chat,dbos,migrating,sign-in,task}/*.matrix.test.ts",
  "src/{faults/naive-client,frozen-process}.matrix.test.ts",
  "src/authorization/agent-sign-in.matrix.test.ts",
  "src/waiting/lasting-{clients,servers}.matrix.test.ts",
  "src/killed-{answers,sign-ins,step}.matrix.test.ts",
  "src/runs/{auto-session,run-scopes-leave-nothing}.matrix.test.ts",
  "src/durable/two-openers.matrix.test.ts",
  "src/sub-agents/three-processes.matrix.test.ts",
  "src/run/{calls-that-last,killed-sign-ins,losses,open-durable-connections,unavailable-connections,waiting-ends}.matrix.test.ts",
  "src/{soak,compatibility,frameworks}/**",
  "src/{dynamodb,io-redis,postgres-drivers,upstash}.matrix.test.ts",
  "src/replicas/{ending-tasks,tasks}.matrix.test.ts",
  "src/sessions/{browser.matrix,server-dies-midway}.test.ts",
  `src/sessions/{${promises.join(",")}}.test.ts`,
  "src/stdio/*.matrix.test.ts",
  "src/server-conformance/two-replicas.matrix.test.ts",
];

/** Every server with every client, every store, and the programs that run for long; or CI's share of them. */
const matrix = (isShare: boolean) => {
  const exclude = isShare ? atNight : [];
  return [
    project("core", { include: inMatrix }),
    project("oauth", { include: inMatrix, exclude: [] }),
    project("langchain", { ...realServers, globalSetup: [], include: inMatrix, exclude }),
    project("cli", { ...realServers, globalSetup: [], include: inMatrix, exclude: [] }),
    project("stores", { ...realServers, include: inMatrix, exclude }),
    project("benchmarks", { ...realServers, globalSetup: [], include: inMatrix, exclude: [] }),
    ...withProcesses(
      { include: inMatrix, exclude },
      {
        include: [
          ...inMatrix,
          "src/{sessions,replicas,conformance,server-conformance,compatibility}/*.test.ts",
        ],
        exclude,
        env: { TEST_MATRIX: isShare ? "" : "1" },
      },
    ),
  ];
};

/** Projects with long files that mostly wait, which leaves room for the others. */
const waiting: readonly string[] = ["workflow", "examples/workflow", "examples/eve"];

/** Within a group, projects run in the order of their names, and those that wait before the others. */
class WaitingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort([...files]);
    return sorted.toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}

function placeOf({ project: { config, name } }: TestSpecification): number {
  return 2 * config.sequence.groupOrder + (waiting.includes(name) ? 0 : 1);
}

export default defineConfig(({ mode }) => ({
  test: {
    sequence: { sequencer: WaitingFirst },
    projects: mode === "test" ? projects : matrix(mode === "share"),
    // .ci/run counts the tests from these reports.
    reporters: process.env["CI"]
      ? ["default", ["json", { outputFile: `reports/vitest-${mode}.json` }]]
      : ["default"],
  },
}));
