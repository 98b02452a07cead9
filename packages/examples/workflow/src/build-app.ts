import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { BaseBuilder, createBaseBuilderConfig } from "@workflow/builders";
import { bundles } from "./bundle-paths.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Builds the app as a framework's plugin does, and gives the ids of its workflows. */
export async function buildApp(): Promise<Record<string, string>> {
  await mkdir(dirname(bundles.step), { recursive: true });
  return await new AppBuilder().bundle();
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
    const inputFiles = await this.getInputFiles();
    const { manifest } = await this.createStepsBundle({
      inputFiles,
      format: "esm",
      outfile: bundles.step,
      externalizeNonSteps: true,
      bundleTransitiveLocalStepDependencies: true,
      rewriteTsExtensions: true,
    });
    await this.createWorkflowsBundle({
      inputFiles,
      format: "esm",
      outfile: bundles.flow,
      tsconfigPath: `${root}src/app/tsconfig.bundle.json`,
      bundleFinalOutput: false,
    });
    const functions = Object.values(manifest.workflows ?? {}).flatMap((file) =>
      Object.entries(file),
    );
    return Object.fromEntries(functions.map(([name, { workflowId }]) => [name, workflowId]));
  }
}
