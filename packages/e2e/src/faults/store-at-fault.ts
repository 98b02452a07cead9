import type { SessionStore } from "@durable-mcp/core";
import { createFaultyStore } from "@durable-mcp/testing";

/** When in a step the store fails. */
export const moments = ["load", "save", "end", "replacement"] as const;
export type Moment = (typeof moments)[number];

/** What happens to one operation of a store. */
export type StoreAct = <T>(operation: () => Promise<T>) => Promise<T>;

export type StoreAtFault = ReturnType<typeof createStoreAtFault>;

/** A store whose operations can be made to fail, when they come. */
export function createStoreAtFault(inner: SessionStore) {
  const { store, meet, heal } = createFaultyStore(inner);
  let met = 0;
  return {
    store,
    heal,
    /** From the next operation of this kind on, all of them; until `heal`. */
    failAt: (operation: "get" | "put", act: StoreAct): void => {
      met = 0;
      meet("*", async (operate, { name }) => {
        if (met === 0 && name !== operation) return await operate();
        met += 1;
        return await act(operate);
      });
    },
    /** How many operations the fault has met since the last `failAt`. */
    met: () => met,
  };
}
