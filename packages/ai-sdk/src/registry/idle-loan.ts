import { detach } from "@durable-mcp/core/internal";

/**
 * Something that is opened for its first use, and closed when it was idle, or when the process has
 * nothing more to do. The next use opens another.
 */
export interface IdleLoan<T> {
  /** Calls `use` with what is open. */
  readonly lend: <RESULT>(use: (value: T) => Promise<RESULT>) => Promise<RESULT>;
  /** Keeps what is open from being idle. @returns how to let go */
  readonly hold: () => () => void;
  readonly whileHeld: <RESULT>(work: () => RESULT | Promise<RESULT>) => Promise<RESULT>;
  readonly end: () => Promise<void>;
}

/** @param options.open returns what is opened, and how to close it */
export function createIdleLoan<T>({
  open,
  idleTimeoutMs,
}: {
  open: () => { readonly value: T; readonly close: () => Promise<void> };
  idleTimeoutMs: number;
}): IdleLoan<T> {
  let current: ReturnType<typeof open> | undefined;
  let uses = 0;
  /** How often a use has begun or ended. */
  let changes = 0;
  let changesAtExit: number | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const end = async () => {
    const closing = current;
    current = undefined;
    clearTimeout(timer);
    beforeExit("off", atExit);
    await closing?.close();
  };
  // Closing takes requests, which keep the process until they are answered.
  const atExit = () => {
    // Another listener may just have begun something. What is stuck begins and ends nothing.
    if (uses > 0 && changes !== changesAtExit) {
      changesAtExit = changes;
      // So that there is another exit, after all that it keeps the process for.
      setTimeout(() => undefined, 0);
    } else {
      void end();
    }
  };
  const hold = () => {
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
      timer = setTimeout(() => void end(), idleTimeoutMs);
      detach(timer);
    };
  };
  const whileHeld: IdleLoan<T>["whileHeld"] = async (work) => {
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
    lend: (use) =>
      whileHeld(async () => {
        if (current === undefined) {
          current = open();
          beforeExit("on", atExit);
        }
        return await use(current.value);
      }),
  };
}

/** Listens to the end of Node's process, or no more; other runtimes have none. */
function beforeExit(what: "on" | "off", listener: () => void): void {
  type Listen = (event: "beforeExit", listener: () => void) => unknown;
  const { process } = globalThis as { process?: Partial<Record<"on" | "off", Listen>> };
  process?.[what]?.("beforeExit", listener);
}
