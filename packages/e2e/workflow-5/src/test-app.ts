import { createRequire } from "node:module";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { type Run, start } from "workflow/api";
import { useOneEngine } from "./one-engine.ts";
import { type App, buildApp, startWorld } from "./run-app.ts";

useOneEngine();

/** The steps of the app, for what API routes do. Past Vite, as the engine loads them. */
export const { steps } = createRequire(import.meta.url)(
  "./app/connections.ts",
) as typeof import("./app/connections.ts");

/** Builds and runs the app of `src/app` for the tests of one file, in this process. */
export function useTestApp(name: string) {
  let app: App;
  let dataDir: string;
  let closeWorld: () => Promise<void>;
  beforeAll(async () => {
    app = await buildApp(name);
    dataDir = await mkdtemp(join(tmpdir(), "durable-mcp-workflow-5-"));
    closeWorld = await startWorld(app.flow, dataDir);
  });
  afterAll(async () => {
    await closeWorld();
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  });
  return {
    begin: (workflow: string, options: unknown): Promise<Run<any>> =>
      start({ workflowId: app.workflowIds[workflow]! }, [options]),
  };
}
