/** One process of an application with a sub-agent. It is given its work as a message, and sends what came of it. */
import type { ModelMessage } from "ai";
import { openStoreAt, type StorePlace } from "../durable/store-place.ts";
import { type NestedUse, type Work, work } from "./nested-agents.ts";

export interface AgentsTask {
  readonly what: Work;
  readonly use: NestedUse;
  readonly place: StorePlace;
  readonly messages: readonly ModelMessage[];
}

process.once("message", (task: AgentsTask) => void take(task));

async function take({ what, use, place, messages }: AgentsTask): Promise<void> {
  const { store, close } = await openStoreAt(place);
  process.send!(await work(what, use, { store, messages }));
  await close?.();
  process.disconnect();
}
