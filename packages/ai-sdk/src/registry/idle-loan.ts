import { detach } from "@durable-mcp/core/internal";

/**
 * Lends a value. The first use opens it. It is closed when it was idle, or when the process has
 * nothing more to do. The next use opens another.
 *
 * @param options.open opens the value, and returns it with a function that closes it
 */
export function createIdleLoan<T>({
  open,
  idleTimeoutMs,
}: {
  open: () => { readonly value: T; readonly close: () => Promise<void> };
  idleTimeoutMs: number;
}) {
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
  // Closing sends requests, and they keep the process until they are answered.
  const atExit = () => {
    // Another listener may just have begun a use. A use that hangs changes nothing any more.
    if (uses > 0 && changes !== changesAtExit) {
      changesAtExit = changes;
      // Makes the process emit `beforeExit` once more, after that use.
      setTimeout(() => undefined, 0);
    } else {
      void end();
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
      timer = setTimeout(() => void end(), idleTimeoutMs);
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
    /** Calls `use` with the value. */
    lend: <RESULT>(use: (value: T) => Promise<RESULT>) =>
      whileHeld(async () => {
        if (current === undefined) {
          current = open();
          beforeExit("on", atExit);
        }
        return await use(current.value);
      }),
  };
}

/** Starts or stops listening to the end of Node's process. Other runtimes have no such event. */
function beforeExit(what: "on" | "off", listener: () => void): void {
  type Listen = (event: "beforeExit", listener: () => void) => unknown;
  const { process } = globalThis as { process?: Partial<Record<"on" | "off", Listen>> };
  process?.[what]?.("beforeExit", listener);
}
