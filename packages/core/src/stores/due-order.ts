import type { StoreSelection } from "./driver.ts";

/** How the keys begin of what is looked at when its time has come. Each store has an order by last use of these alone. */
export const dueStart = "due/";

/** Whether a list is of such keys alone, by their last use. It costs its page, whatever else the store holds. */
export function isByDue({
  prefix,
  owner,
  idleSince,
}: Pick<StoreSelection, "prefix" | "owner" | "idleSince">): boolean {
  return owner === undefined && idleSince !== undefined && prefix.startsWith(dueStart);
}
