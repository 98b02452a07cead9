import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { BaseBuilder, createBaseBuilderConfig } from "@workflow/builders";

const root = fileURLToPath(new URL("..", import.meta.url));

/** What the engine runs of the app in `test/app`. */
export interface AppBundles {
  /** Paths of modules with a `POST`. */
  readonly workflows: string;
  readonly steps: string;
  /** By name of the function. */
  readonly workflowIds: Readonly<Record<string, string>>;
  readonly stepIds: Readonly<Record<string, string>>;
}

/** Builds the app as a framework's plugin does, where its packages are found. */
export async function buildApp(): Promise<AppBundles> {
  return await new AppBuilder().bundles();
}

class AppBuilder extends BaseBuilder {
  readonly #folder = `${root}.workflow-app/`;

  constructor() {
    super({
      ...createBaseBuilderConfig({ workingDir: root, dirs: ["test/app"] }),
      // As ESM for Node.
      buildTarget: "next",
      // Node finds their sources.
      externalPackages: ["@durable-mcp/*"],
      suppressCreateWorkflowsBundleLogs: true,
    });
  }

  override build(): Promise<void> {
    throw new Error("Call bundles().");
  }

  async bundles(): Promise<AppBundles> {
    await mkdir(this.#folder, { recursive: true });
    const inputFiles = await this.getInputFiles();
    const workflows = `${this.#folder}workflows.mjs`;
    const steps = `${this.#folder}steps.mjs`;
    const format = "esm";
    const { manifest } = await this.createStepsBundle({
      ...{ inputFiles, format, outfile: steps },
      ...{ externalizeNonSteps: true, bundleTransitiveLocalStepDependencies: true },
      rewriteTsExtensions: true,
    });
    await this.createWorkflowsBundle({
      inputFiles,
      format,
      tsconfigPath: `${root}test/app/tsconfig.bundle.json`,
      outfile: workflows,
      bundleFinalOutput: false,
    });
    return {
      workflows,
      steps,
      workflowIds: idsIn(manifest.workflows, "workflowId"),
      stepIds: idsIn(manifest.steps, "stepId"),
    };
  }
}

/** The ids by function, of a manifest that has them by file. */
function idsIn<KEY extends string>(
  files: Record<string, Record<string, Record<KEY, string>>> = {},
  key: KEY,
): Record<string, string> {
  const functions = Object.values(files).flatMap((file) => Object.entries(file));
  return Object.fromEntries(functions.map(([name, { [key]: id }]) => [name, id]));
}
