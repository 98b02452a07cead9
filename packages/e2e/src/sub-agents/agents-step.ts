/** One process of an application with a sub-agent. */
import type { ModelMessage } from "ai";
import { openStoreAt, type StorePlace } from "../durable/store-place.ts";
import { type NestedResult, type NestedUse, type Work, work } from "./nested-agents.ts";

export interface AgentsTask {
  readonly what: Work;
  readonly use: NestedUse;
  readonly place: StorePlace;
  readonly messages: readonly ModelMessage[];
}

export default async function step({
  what,
  use,
  place,
  messages,
}: AgentsTask): Promise<NestedResult> {
  const { store, close } = await openStoreAt(place);
  const result = await work(what, use, { store, messages });
  await close?.();
  return result;
}
