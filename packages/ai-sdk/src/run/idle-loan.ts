import { detach } from "@durable-mcp/core/internal";
import type { ConnectionEvent } from "../events/connection-event.ts";
import { type SlotName, slotName } from "../slots/step-slot.ts";
import type { ConnectionRun } from "./connection-registry.ts";

/** A registry among those that take each other's place: what it has to do with the ones before and after. */
export interface Successor {
  /** Whether the contents of a connection, or of a name of it, ended with a registry before. */
  readonly isAfterEnd: (slot: SlotName) => boolean;
  /** Called when a connection, or a name of it, has something that ends with this registry. */
  readonly started: (slot: SlotName) => void;
}

/** Why a registry is closed. Of an end that the application asked for nobody needs to be told. */
type CloseReason = "idle" | "exit" | "asked";

export interface OpenRegistry {
  readonly registry: ConnectionRun<any>;
  readonly close: () => Promise<void>;
}

interface Lent {
  readonly opening: Promise<OpenRegistry>;
  opened?: OpenRegistry;
  /** What ends with it. */
  readonly started: Map<string, SlotName>;
}

/**
 * Lends a registry. The first use opens it. It is closed when it was idle, or when the process has
 * nothing more to do. The next use opens another, and the model is told, in a connection's first result,
 * what ended with the ones before.
 */
// oxlint-disable-next-line max-lines-per-function -- its state, and functions of a few lines each
export function createIdleLoan(
  open: (successor: Successor) => Promise<OpenRegistry>,
  emit: (event: ConnectionEvent) => void,
  idleTimeoutMs: number,
) {
  let current: Lent | undefined;
  const succession = createSuccession(open, emit);
  let uses = 0;
  /** How often a use has begun or ended. */
  let changes = 0;
  let changesAtExit: number | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const leave = () => {
    const left = current;
    current = undefined;
    clearTimeout(timer);
    beforeExit("off", atExit);
    return left;
  };
  const end = async (reason: CloseReason) => {
    const left = leave();
    // At once if it can be, so that the next one finds what it left.
    const closing = left?.opened ?? (await left?.opening.catch(() => undefined));
    if (left === undefined || closing === undefined) return;
    succession.noteEnd(left, reason);
    await closing.close();
  };
  // Closing sends requests, and they keep the process until they are answered.
  const atExit = () => {
    // Another listener may just have begun a use. A use that hangs changes nothing any more.
    if (uses > 0 && changes !== changesAtExit) {
      changesAtExit = changes;
      // Makes the process emit `beforeExit` once more, after that use.
      setTimeout(() => undefined, 0);
    } else {
      void end("exit");
    }
  };
  /** Keeps the value from being idle. @returns ends that */
  const hold = (): (() => void) => {
    clearTimeout(timer);
    uses += 1;
    changes += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      uses -= 1;
      changes += 1;
      if (uses > 0 || current === undefined) return;
      timer = setTimeout(() => void end("idle"), idleTimeoutMs);
      detach(timer);
    };
  };
  const whileHeld = async <RESULT>(work: () => RESULT | Promise<RESULT>): Promise<RESULT> => {
    const release = hold();
    try {
      return await work();
    } finally {
      release();
    }
  };

  return {
    hold,
    whileHeld,
    end,
    /** Calls `use` with the registry. */
    lend: <RESULT>(use: (registry: ConnectionRun<any>) => Promise<RESULT>) =>
      whileHeld(async () => {
        if (current === undefined) {
          current = succession.begin();
          beforeExit("on", atExit);
        }
        const own = current;
        try {
          own.opened ??= await own.opening;
        } catch (error) {
          // It needs no close.
          if (current === own) leave();
          throw error;
        }
        return await use(own.opened.registry);
      }),
  };
}

/** What registries that take each other's place know of the ones before. */
function createSuccession(
  open: (successor: Successor) => Promise<OpenRegistry>,
  emit: (event: ConnectionEvent) => void,
) {
  const ended = new Set<string>();
  return {
    begin(): Lent {
      const started: Lent["started"] = new Map();
      const opening = open({
        isAfterEnd: (slot) => ended.has(slotName(slot)),
        started: (slot) => void started.set(slotName(slot), slot),
      });
      return { opening, started };
    },
    noteEnd({ started }: Lent, reason: CloseReason) {
      if (reason === "asked") return ended.clear();
      for (const [key, slot] of started) {
        ended.add(key);
        if (reason === "idle") emit({ type: "ended", ...slot, reason });
      }
    },
  };
}

/** Starts or stops listening to the end of Node's process. Other runtimes have no such event. */
function beforeExit(what: "on" | "off", listener: () => void): void {
  type Listen = (event: "beforeExit", listener: () => void) => unknown;
  const { process } = globalThis as { process?: Partial<Record<"on" | "off", Listen>> };
  process?.[what]?.("beforeExit", listener);
}
