import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { BaseBuilder, createBaseBuilderConfig } from "@workflow/builders";
import { createWorld } from "@workflow/world-local";
import { afterAll, beforeAll } from "vitest";
import { type Run, start } from "workflow/api";
import { setWorld } from "workflow/runtime";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = `${root}.workflow-app/`;

/** Builds and runs the app of `src/app` for the tests of one file, in this process. */
export function useTestApp() {
  let workflowIds: Record<string, string>;
  let closeWorld: () => Promise<void>;
  beforeAll(async () => {
    workflowIds = await new AppBuilder().bundle();
    closeWorld = await startWorld();
  });
  afterAll(async () => await closeWorld());
  return {
    begin: (workflow: string, options: unknown): Promise<Run<any>> =>
      start({ workflowId: workflowIds[workflow]! }, [options]),
  };
}

async function startWorld(): Promise<() => Promise<void>> {
  const dataDir = await mkdtemp(join(tmpdir(), "durable-mcp-workflow-5-"));
  const world = createWorld({ dataDir });
  // In this release one handler takes workflows and steps.
  const { POST } = (await import(pathToFileURL(`${folder}flow.mjs`).href)) as {
    POST: (request: Request) => Promise<Response>;
  };
  world.registerHandler("__wkf_workflow_", POST);
  setWorld(world);
  await world.start?.();
  return async () => {
    await world.close?.();
    setWorld(undefined);
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  };
}

class AppBuilder extends BaseBuilder {
  constructor() {
    super({
      ...createBaseBuilderConfig({ workingDir: root, dirs: ["src/app"] }),
      // As ESM for Node.
      buildTarget: "next",
      // Node finds their sources.
      externalPackages: ["@durable-mcp/*"],
      suppressCreateWorkflowsBundleLogs: true,
    });
  }

  override build(): Promise<void> {
    throw new Error("Call bundle().");
  }

  async bundle(): Promise<Record<string, string>> {
    await mkdir(folder, { recursive: true });
    const { manifest } = await this.createCombinedBundle({
      inputFiles: await this.getInputFiles(),
      stepsOutfile: `${folder}steps.mjs`,
      flowOutfile: `${folder}flow.mjs`,
      format: "esm",
      bundleFinalOutput: false,
      externalizeNonSteps: true,
      bundleTransitiveLocalStepDependencies: true,
      tsconfigPath: `${root}src/app/tsconfig.bundle.json`,
    });
    const functions = Object.values(manifest.workflows ?? {}).flatMap((file) =>
      Object.entries(file),
    );
    return Object.fromEntries(functions.map(([name, { workflowId }]) => [name, workflowId]));
  }
}
