/** Looks at the watches that are due, again and again, until its step is ended. */
import { setTimeout } from "node:timers/promises";
import type { StepContext } from "@durable-mcp/testing";
import { openStoreAt, type StorePlace } from "../durable/store-place.ts";
import { createNewsSessions, type NewsUse } from "./news-sessions.ts";

export interface NewsLooker {
  readonly place: StorePlace;
  readonly use: NewsUse;
  readonly untilAt: number;
}

export default async function lookForNews(
  { place, use, untilAt }: NewsLooker,
  { watch }: StepContext,
): Promise<void> {
  const { store, close } = await openStoreAt(place);
  const sessions = createNewsSessions(watch(store), use);
  while (Date.now() < untilAt) {
    // What fails now is due again.
    const looks = async () => {
      for await (const { reference } of sessions.admin.due()) await sessions.admin.check(reference);
    };
    await looks().catch(() => undefined);
    await setTimeout(20);
  }
  await close?.();
}
