import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createLocalWorld } from "@workflow/world-local";
import { setWorld } from "workflow/runtime";
import type { AppBundles } from "./build-app.ts";

type Handler = (request: Request) => Promise<Response>;

export type LocalWorld = Awaited<ReturnType<typeof startLocalWorld>>;

/** Runs the app in this process. Goes on with what an earlier process left in the folder. */
export async function startLocalWorld(
  { workflows, steps }: Pick<AppBundles, "workflows" | "steps">,
  dataDir = mkdtempSync(join(tmpdir(), "durable-mcp-workflow-")),
) {
  const world = createLocalWorld({ dataDir });
  world.registerHandler("__wkf_workflow_", await handlerIn(workflows));
  world.registerHandler("__wkf_step_", await handlerIn(steps));
  setWorld(world);
  await world.start?.();
  return {
    world,
    dataDir,
    async close() {
      await world.close?.();
      setWorld(undefined);
      rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function handlerIn(path: string): Promise<Handler> {
  const { POST } = (await import(pathToFileURL(path).href)) as { POST: Handler };
  return POST;
}
