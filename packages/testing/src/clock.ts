import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A clock that a test moves. */
export type Clock = ReturnType<typeof openClock>;

/** Of all clocks of this process. */
let folder: string | undefined;

/**
 * Creates a clock for sessions, stores, servers and steps. It goes on with the time, and jumps when a test says so. A
 * step in a process of its own (`startStep(…, { clock })`) has it as its `Date`.
 *
 * @example
 * clock.advance({ days: 3 });
 */
export function createClock(): Clock {
  if (folder === undefined) {
    const made = mkdtempSync(join(tmpdir(), "durable-mcp-clocks-"));
    process.once("exit", () => rmSync(made, { recursive: true, force: true }));
    folder = made;
  }
  const path = join(folder, randomUUID());
  writeFileSync(path, "0");
  return openClock(path);
}

/** The clock of another process. */
export function openClock(path: string) {
  const { now: realNow } = Date;
  const offset = () => Number(readFileSync(path, "utf8"));
  const now = () => realNow() + offset();
  return {
    path,
    /** The time in milliseconds since 1970-01-01 UTC, for any option `now`. Needs no `this`. */
    now,
    /** Moves it for all processes, by the sum of these. Timers do not notice. @returns the time */
    advance({ days = 0, hours = 0, minutes = 0, ms = 0 }) {
      const by = ((days * 24 + hours) * 60 + minutes) * 60_000 + ms;
      writeFileSync(path, String(offset() + by));
      return now();
    },
  };
}

/** Makes it the `Date` of this process. */
export function useClock({ now }: Clock): void {
  globalThis.Date = new Proxy(Date, {
    construct: (target, args: [], newTarget) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget) as object,
    apply: () => new Date(now()).toString(),
    get: (target, name, receiver) =>
      name === "now" ? now : (Reflect.get(target, name, receiver) as unknown),
  });
}
