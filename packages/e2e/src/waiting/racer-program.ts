/** A process that answers a question at the same time as another one. Gives a state, or an error's code. */
import { McpSessionError } from "@durable-mcp/core";
import type { StepContext } from "@durable-mcp/testing";
import { openStoreAt, type StorePlace } from "../durable/store-place.ts";
import { answer, createShop } from "./waiting-shop.ts";

export interface RacedAnswer {
  readonly place: StorePlace;
  readonly url: string;
  readonly sessionId: string;
  readonly id: string;
}

export default async function race(
  { place, url, sessionId, id }: RacedAnswer,
  { watch }: StepContext,
): Promise<string> {
  const { store, close } = await openStoreAt(place);
  const outcome = await answer(createShop({ url, store: watch(store) }), sessionId, {
    id,
    round: 1,
  }).then(
    ({ state }) => state,
    (error: unknown) => (McpSessionError.isInstance(error) ? error.code : String(error)),
  );
  await close?.();
  return outcome;
}
