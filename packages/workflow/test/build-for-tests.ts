import type { TestProject } from "vitest/node";
import { type AppBundles, buildApp } from "./build-app.ts";

declare module "vitest" {
  interface ProvidedContext {
    workflowApp: AppBundles;
  }
}

/** Builds the app once for all files of a run. */
export default async function buildForTests({ provide }: TestProject): Promise<void> {
  provide("workflowApp", await buildApp());
}
