import { mkdir } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { BaseBuilder, createBaseBuilderConfig } from "@workflow/builders";
import { createWorld } from "@workflow/world-local";
import { setWorld } from "workflow/runtime";

const root = fileURLToPath(new URL("..", import.meta.url));

export interface App {
  /** Path of the module with a `POST`, for workflows and steps. */
  readonly flow: string;
  /** By name of the function. */
  readonly workflowIds: Readonly<Record<string, string>>;
}

/** Builds the app of `src/app` in a folder of that name. */
export async function buildApp(name: string): Promise<App> {
  return await new AppBuilder(name).bundle();
}

/** Runs the app in this process. Goes on with what an earlier process left in the folder. */
export async function startWorld(flow: string, dataDir: string): Promise<() => Promise<void>> {
  const world = createWorld({ dataDir });
  // In this release one handler takes workflows and steps.
  const { POST } = (await import(pathToFileURL(flow).href)) as {
    POST: (request: Request) => Promise<Response>;
  };
  world.registerHandler("__wkf_workflow_", POST);
  setWorld(world);
  await world.start?.();
  return async () => {
    await world.close?.();
    setWorld(undefined);
  };
}

class AppBuilder extends BaseBuilder {
  readonly #folder: string;

  constructor(name: string) {
    super({
      ...createBaseBuilderConfig({ workingDir: root, dirs: ["src/app"] }),
      // As ESM for Node.
      buildTarget: "next",
      // Node finds their sources.
      externalPackages: ["@durable-mcp/*"],
      suppressCreateWorkflowsBundleLogs: true,
    });
    this.#folder = `${root}.workflow-app/${name}/`;
  }

  override build(): Promise<void> {
    throw new Error("Call bundle().");
  }

  async bundle(): Promise<App> {
    const flow = `${this.#folder}flow.mjs`;
    await mkdir(this.#folder, { recursive: true });
    const { manifest } = await this.createCombinedBundle({
      inputFiles: await this.getInputFiles(),
      stepsOutfile: `${this.#folder}steps.mjs`,
      flowOutfile: flow,
      format: "esm",
      bundleFinalOutput: false,
      externalizeNonSteps: true,
      bundleTransitiveLocalStepDependencies: true,
      tsconfigPath: `${root}src/app/tsconfig.bundle.json`,
    });
    const functions = Object.values(manifest.workflows ?? {}).flatMap((file) =>
      Object.entries(file),
    );
    const workflowIds = functions.map(([name, { workflowId }]) => [name, workflowId]);
    return { flow, workflowIds: Object.fromEntries(workflowIds) as Record<string, string> };
  }
}
