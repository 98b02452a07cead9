import { sessionKey } from "@durable-mcp/core";
import { detach, invalid } from "@durable-mcp/core/internal";
import type { Lend } from "../base/loaded-later.ts";
import type { McpClient } from "../base/mcp-client.ts";
import type { Track } from "../base/open-work.ts";
import type { Connections } from "../declare/mcp-connection.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import { type SlotName, slotName } from "../records/step-slot.ts";
import type { ConnectionRun } from "./connection-run.ts";
import { createLentRun } from "./lent-run.ts";
import type { AutoSessionOptions } from "./run-options.ts";
import type { ToolFace } from "./tool-face.ts";

/** A run among those that take each other's place: what it has to do with the ones before and after. */
export interface Successor {
  /** Whether the contents of a connection, or of a name of it, ended with a run before. */
  readonly isAfterEnd: (slot: SlotName) => boolean;
  /** Called when a connection, or a name of it, has something that ends with this run. */
  readonly started: (slot: SlotName) => void;
}

/** The runs behind the implicit one. */
interface ImplicitRuns {
  readonly declared: () => Connections;
  /** Opens the next run, when the one before has saved all. */
  readonly open: (successor: Successor) => ConnectionRun<any> | Promise<ConnectionRun<any>>;
  readonly emit: (event: ConnectionEvent) => void;
  readonly face: ToolFace | undefined;
  /** Has the implicit run closed, for good, with those that it belongs to. */
  readonly tracks: readonly Track[];
}

/** One for all copies of this package: bundlers like to make several. */
const holderKey = Symbol.for("durable-mcp.autoSession");
const holder = globalThis as { [holderKey]?: ConnectionRun<any> | undefined };

/** The implicit run of this process, if a provider has one. */
export function currentAutoSession(): ConnectionRun<any> | undefined {
  return holder[holderKey];
}

/**
 * Makes the implicit run of a script that opens nothing by hand. Opens nothing yet. A run is opened on first
 * use, and again after its end.
 *
 * @returns the implicit run
 * @throws {McpSessionError} `PRINCIPAL_REQUIRED`; `CONNECTION_INVALID`, also when the process has one
 */
export function startAutoSession(
  { principal, idleTimeoutMs = 300_000 }: Omit<AutoSessionOptions, "sessionId">,
  runs: ImplicitRuns,
): ConnectionRun<any> {
  sessionKey({ connection: "any", principal });
  if (holder[holderKey] !== undefined) {
    throw invalid(
      "autoSession",
      "There is a connection provider, or durable sessions, with autoSession in this process already. Give the option to one of them only, or shut the other down first.",
    );
  }
  const { withRun, hold, whileHeld, end } = createLazyRun(runs, idleTimeoutMs);
  const own: Parameters<typeof createLentRun>[2] = {
    client: (name) =>
      withRun(async (current) => watchedClient(await current.client(name), whileHeld)),
    fetch(name) {
      let last: { of: ConnectionRun; fetch: typeof globalThis.fetch } | undefined;
      return async (input, init) =>
        await withRun(async (of) => {
          if (last?.of !== of) last = { of, fetch: of.fetch(name) };
          const response = await last.fetch(input, init);
          const method = init?.method ?? (input instanceof Request ? input.method : "GET");
          // A listening stream does not count as use.
          return method.toUpperCase() === "POST" ? heldResponse(response, hold()) : response;
        });
    },
    dispose: () => end("asked"),
  };
  const run = createLentRun(withRun, runs.declared, own, runs.face);
  holder[holderKey] = run;
  const forgets = runs.tracks.map((track) => track(close));
  async function close() {
    if (holder[holderKey] === run) holder[holderKey] = undefined;
    for (const forget of forgets) forget();
    await end("asked");
  }
  return run;
}

/** Why a run is closed. Of an end that the application asked for nobody needs to be told. */
type CloseReason = "idle" | "exit" | "asked";

/**
 * One run at a time. The first use opens it. It is closed when it was idle, or when the process has nothing
 * more to do. The next use opens another, and the model is told, in a connection's first result, what ended
 * with the ones before.
 */
function createLazyRun({ open, emit }: ImplicitRuns, idleTimeoutMs: number) {
  let current: Promise<ConnectionRun<any>> | undefined;
  let closing = Promise.resolve();
  let uses = 0;
  /** How often a use has begun or ended. */
  let changes = 0;
  let changesAtExit: number | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const { successor, noteEnd } = createSuccession(emit);

  const leave = () => {
    current = undefined;
    clearTimeout(timer);
    onProcess("off", atExit);
  };
  const end = async (reason: CloseReason) => {
    const left = current;
    if (left === undefined) return await closing;
    leave();
    const close = async () => {
      const run = await left.catch(() => undefined);
      noteEnd(reason);
      await run?.dispose();
    };
    closing = close();
    await closing;
  };
  // Closing sends requests, and they keep the process until they are answered.
  function atExit() {
    // Another listener may just have begun a use. A use that hangs changes nothing any more.
    if (uses > 0 && changes !== changesAtExit) {
      changesAtExit = changes;
      // Makes the process emit `beforeExit` once more, after that use.
      setTimeout(() => undefined, 0);
    } else {
      void end("exit");
    }
  }
  /** Keeps the run from being idle. @returns ends that */
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
  const begin = () => {
    onProcess("on", atExit);
    // It finds what the one before left.
    const opening = closing.then(() => open(successor));
    opening.catch(() => void (current === opening && leave()));
    return opening;
  };
  /** Calls `use` with the run. */
  const withRun: Lend<ConnectionRun<any>> = (use) =>
    whileHeld(async () => await use(await (current ??= begin())));
  return { withRun, hold, whileHeld, end };
}

/** What ends with the current run, and what ended with those before. */
function createSuccession(emit: ImplicitRuns["emit"]) {
  const started = new Map<string, SlotName>();
  const ended = new Set<string>();
  const successor: Successor = {
    isAfterEnd: (slot) => ended.has(slotName(slot)),
    started: (slot) => void started.set(slotName(slot), slot),
  };
  const noteEnd = (reason: CloseReason) => {
    for (const [key, slot] of started) {
      ended.add(key);
      if (reason === "idle") emit({ type: "ended", ...slot, reason });
    }
    started.clear();
    if (reason === "asked") ended.clear();
  };
  return { successor, noteEnd };
}

/** Starts or stops listening to the end of Node's process. Other runtimes have no such event. */
function onProcess(what: "on" | "off", listener: () => void): void {
  type Listen = (event: "beforeExit", listener: () => void) => unknown;
  const { process } = globalThis as { process?: Partial<Record<"on" | "off", Listen>> };
  process?.[what]?.("beforeExit", listener);
}

/** Methods of a client that do not return a promise. */
const notWatched: ReadonlySet<string | symbol> = new Set([
  "onElicitationRequest",
  "toolsFromDefinitions",
]);

/** A client whose requests are uses, because the client outlives the use that made it. */
function watchedClient(
  client: McpClient,
  whileHeld: (work: () => unknown) => Promise<unknown>,
): McpClient {
  return new Proxy(client, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function") return value;
      const call = (args: unknown[]): unknown => value.apply(target, args);
      if (notWatched.has(property)) return (...args: unknown[]) => call(args);
      return (...args: unknown[]) => whileHeld(() => call(args));
    },
  });
}

/** The response. Calls `release` when its body was read to its end, failed or was cancelled; for a refusal at once. */
function heldResponse(response: Response, release: () => void): Response {
  if (response.body === null || !response.ok) {
    release();
    return response;
  }
  // TypeScript does not know `cancel`, which is also called when the body fails.
  const transformer = { flush: release, cancel: release };
  const noted = new TransformStream<Uint8Array, Uint8Array>(transformer);
  return new Response(response.body.pipeThrough(noted), response);
}
