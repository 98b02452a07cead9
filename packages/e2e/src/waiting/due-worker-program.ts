/** A queue's worker: looks at each call that is due, again and again. Gives the calls that it has settled. */
import { setTimeout } from "node:timers/promises";
import { openStoreAt, type StorePlace } from "../durable/store-place.ts";
import { createLab, type LabUse } from "./waiting-lab.ts";

export interface DueWork {
  readonly place: StorePlace;
  readonly use: LabUse;
  /** It ends when no call was due for so long, in milliseconds. */
  readonly idleMs: number;
}

export interface DueReport {
  /** The ids of the calls that `onSettled` has got. */
  readonly settled: readonly string[];
  /** How often it was given a call that is not over. */
  readonly looks: number;
}

export default async function workOnDue({ place, use, idleMs }: DueWork): Promise<DueReport> {
  const { store, close } = await openStoreAt(place);
  const settled: string[] = [];
  const { sessions } = createLab(use, { store, onSettled: ({ id }) => void settled.push(id) });
  let looks = 0;
  let idleSince = Date.now();
  while (Date.now() - idleSince < idleMs) {
    for await (const { reference } of sessions.admin.due({ limit: 100 })) {
      idleSince = Date.now();
      if ((await sessions.admin.check(reference)) !== undefined) looks += 1;
    }
    await setTimeout(50);
  }
  await close?.();
  return { settled, looks };
}
