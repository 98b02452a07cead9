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
  const world = oneAfterAnother(createLocalWorld({ dataDir }));
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

/**
 * This world gives an event its place in the log first, and writes it then. Of two at once the later one may be there
 * first: the engine goes on from that, and the replay that finds both gives each branch the hook of the other.
 */
function oneAfterAnother<World extends ReturnType<typeof createLocalWorld>>(world: World): World {
  const { events } = world;
  const create = events.create.bind(events) as (...event: unknown[]) => Promise<unknown>;
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = (...event: unknown[]) => {
    const created = last.then(() => create(...event));
    last = created.catch(() => undefined);
    return created;
  };
  return Object.assign(world, { events: { ...events, create: inTurn } });
}

async function handlerIn(path: string): Promise<Handler> {
  const { POST } = (await import(pathToFileURL(path).href)) as { POST: Handler };
  return POST;
}
