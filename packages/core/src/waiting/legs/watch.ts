/** A watch: a call of nobody, which stays until it is taken back, or no step has renewed it for too long. */

import type { NewsBody, StoredNews } from "../record/inbox.ts";
import type { HeldWatch } from "../record/held.ts";
import { fateUnknown, type HeldWay, type KeptCall } from "./held-request.ts";
import type { LegOptions, LegOutcome } from "./send-leg.ts";
import { lookAtResource } from "./watched-resource.ts";

/** How many entries may wait for a step. */
const maxOpen = 100;
/** How long an entry stays that a step has taken, in milliseconds. A claim is given up for dead much earlier. */
const takenMs = 3_600_000;
/** While news wait, looks come ever later, up to this, in milliseconds: whoever looks begins a step, which may fail. */
const maxPauseMs = 3_600_000;
/** An entry goes so long after its watch would have ended, in milliseconds, if no step takes it. */
const keptMs = 2_592_000_000;

export const watchWay: HeldWay<HeldWatch> = {
  async look(call, held, leg) {
    try {
      return await look(call, held, leg);
    } catch (error) {
      return { type: "not-sent", error, pollMs: held.intervalMs };
    }
  },
  // It asks nobody, and its server knows nothing of it.
  answer: async (call) => fateUnknown(call),
  cancel: async () => undefined,
};

async function look(
  { id, request, expiresAt }: KeptCall,
  held: HeldWatch,
  { inbox, now = Date.now, ask, signal }: LegOptions,
): Promise<LegOutcome> {
  if (!inbox || !ask) throw new Error("Nobody can ask for news here.");
  const own = (await inbox.list(id)).filter(({ entry }) => entry.since === held.since);
  const isOld = ({ entry: { takenAt = Infinity, place } }: StoredNews) =>
    // What the held place has not passed would be found again.
    takenAt < now() - takenMs && place <= held.place;
  await inbox.drop(own.filter(isOld));
  const newest = own.toSorted((a, b) => a.entry.place - b.entry.place).at(-1)?.entry;
  const isAhead = newest !== undefined && newest.place > held.place;
  const place = isAhead ? newest.place : held.place;
  const open = own.filter(({ entry }) => entry.takenAt === undefined);
  const put = async (name: string, body: NewsBody, at: number) => {
    const entry = { version: 1, watch: id, since: held.since, place: at, foundAt: now() } as const;
    return await inbox.put(name, { ...body, ...entry }, expiresAt + keptMs);
  };
  const waitedMs =
    open.length === 0 ? 0 : now() - Math.max(...open.map((one) => one.entry.foundAt));
  const pauseMs = Math.max(held.intervalMs, Math.min(waitedMs, maxPauseMs));
  const goesOn = (next: Partial<HeldWatch>, pollMs = pauseMs): LegOutcome => ({
    ...{ type: "goes-on", held: { ...held, ...next }, pollMs },
  });

  if (expiresAt <= now()) {
    await put("end", { type: "end" }, place + 1);
    return { type: "expired" };
  }
  const position = isAhead ? (newest.position ?? held.position) : held.position;
  if (open.length >= maxOpen) {
    const isNew = await put(`overflow ${place}`, { type: "overflow", position }, place);
    return goesOn({ news: open.length + (isNew ? 1 : 0) });
  }
  const found = await lookAtResource(position, (bounded) => ask(request, bounded), signal);
  const next = { position: found.position, news: open.length };
  if (found.news === undefined) return goesOn({ ...next, place });
  // Another look was faster, and this one has perhaps read what was there before it.
  if (!(await put(`${place + 1}`, found.news, place + 1))) return goesOn({}, 0);
  return goesOn({ ...next, place: place + 1, news: open.length + 1 }, held.intervalMs);
}
