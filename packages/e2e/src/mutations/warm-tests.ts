import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import type { Reporter, TestModule, TestSpecification } from "vitest/node";

/** The tests of a clone, in one vitest for all runs: it compiles a source again only when that has changed. */
export interface WarmTests {
  /**
   * Runs test files in their order, until one fails, or none ends for long.
   *
   * @param files paths in the clone
   * @returns what failed; `undefined` if all pass
   */
  run(files: readonly string[]): Promise<Failure | undefined>;
  all(): Promise<string[]>;
  /** The test files that import a source. */
  importing(source: string): Promise<string[]>;
  /** A source of the clone has changed. */
  changed(path: string): void;
  /** How long each test file took when it passed last, in milliseconds. */
  readonly durations: ReadonlyMap<string, number>;
}

export interface Failure {
  /** Without one the tests hang, or an error is no test's. */
  readonly file?: string;
  readonly told: string;
  /** Whether nothing can be run any more. */
  readonly isOver?: boolean;
}

/** Of Node's timers, in milliseconds. */
const longestTimer = 2 ** 31 - 1;

export async function openTests(clone: string, projects: readonly string[]): Promise<WarmTests> {
  process.chdir(clone);
  const durations = new Map<string, number>();
  let failure: Failure | undefined;
  let onFileEnd: (() => unknown) | undefined;
  const onTestModuleEnd = (module: TestModule) => {
    onFileEnd?.();
    const file = relative(clone, module.moduleId);
    if (module.state() === "passed") durations.set(file, module.diagnostic().duration);
    if (module.state() !== "failed") return;
    const [test] = module.children.allTests("failed");
    failure ??= { file, told: `${file} > ${test?.fullName ?? "does not start"}` };
  };
  const vitest = await openVitest(clone, projects, { onTestModuleEnd });
  const pathsOf = (specifications: readonly TestSpecification[]) =>
    specifications.map(({ moduleId }) => relative(clone, moduleId));

  return {
    durations,
    all: async () => pathsOf(await vitest.globTestSpecifications()),
    async importing(source) {
      vitest.config.related = [join(clone, source)];
      return pathsOf(await vitest.getRelevantTestSpecifications());
    },
    async run(files) {
      const all = await vitest.globTestSpecifications();
      failure = undefined;
      const longest = Math.max(...files.map((file) => durations.get(file) ?? Infinity));
      const { promise: hangs, resolve: hang } = Promise.withResolvers<"hangs">();
      const limitMs = Math.min(120_000 + 3 * longest, longestTimer);
      const limit = setTimeout(hang, limitMs, "hangs" as const);
      onFileEnd = () => limit.refresh();
      const wanted = files.flatMap(
        (file) => all.find(({ moduleId }) => relative(clone, moduleId) === file) ?? [],
      );
      const ended = await Promise.race([vitest.runTestSpecifications(wanted), hangs]);
      onFileEnd = undefined;
      clearTimeout(limit);
      if (ended === "hangs") return { told: "tests that hang", isOver: true };
      const [error] = ended.unhandledErrors;
      return failure ?? (error === undefined ? undefined : { told: messageOf(error) });
    },
    changed: (path) => vitest.invalidateFile(join(clone, path)),
  };
}

/** The clone's own vitest. It runs files in the given order, and stops at the first failure. */
async function openVitest(clone: string, projects: readonly string[], reporter: Reporter) {
  const entry = createRequire(join(clone, "package.json")).resolve("vitest/node");
  const { createVitest, BaseSequencer } = (await import(
    pathToFileURL(entry).href
  )) as typeof import("vitest/node");
  class AsGiven extends BaseSequencer {
    override sort(files: TestSpecification[]) {
      return Promise.resolve(files);
    }
  }
  const vitest = await createVitest("test", {
    root: clone,
    watch: false,
    project: [...projects],
    reporters: [reporter],
    sequence: { sequencer: AsGiven },
    maxWorkers: availableParallelism(),
    bail: 1,
  });
  await vitest.standalone();
  return vitest;
}

function messageOf(error: unknown): string {
  const { message } = error as { message?: unknown };
  return String(message ?? error).split("\n")[0]!;
}
