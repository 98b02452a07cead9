import type { Principal } from "@durable-mcp/core";
import { abortable } from "@durable-mcp/core/internal";
import { checkOptions } from "../base/check-options.ts";
import { loadedLater } from "../base/loaded-later.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import { type Connections, describeDeclared, notDeclared } from "../declare/mcp-connection.ts";
import type { StepTime } from "../connection/step-time.ts";
import type { ConnectionInfo } from "../records/session-reports.ts";
import { callTool, clientForUse } from "../tools/call-tool.ts";
import { createRunWaiting } from "../waiting/create-run-waiting.ts";
import type { WaitingSource } from "../waiting/waiting-source.ts";
import type { RunWatches } from "../waiting/watches.ts";
import type { ConnectionRun } from "./connection-run.ts";
import { runToEndOfStream } from "./read-to-end.ts";
import { createOffers, createTools } from "./offer-in-run.ts";
import type { RunLifetime } from "./run-lifetime.ts";
import { type RunOptions, runSchema, statusSchema, timeSchema } from "./run-options.ts";
import { enterScope, type RunScope } from "./run-scope.ts";
import type { RunConnection } from "../connection/run-connection.ts";
import { onSessionIn, withInternals } from "./run-internals.ts";
import type { ToolFace } from "./tool-face.ts";
import { useConnections } from "./use-connections.ts";

/** The connections of a run, and its lifetime. */
export interface RunParts {
  /** All connections, also those of a run around it. */
  readonly connections: readonly RunConnection[];
  readonly declared: Connections;
  readonly step: StepTime;
  readonly lifetime: RunLifetime;
  /** Whether its owner disposes of the run, instead of those who enter it. */
  readonly hasOwner: boolean;
  readonly principal: Principal | undefined;
  readonly now: () => number;
  /** Where calls wait; `undefined` if none can. */
  readonly waiting?: WaitingSource | undefined;
  /** What a framework's package makes of the run. @default nothing */
  readonly face?: ToolFace | undefined;
}

export function createRun(
  parts: RunParts,
  { named, nest }: Pick<ConnectionRun, "named"> & Pick<RunScope, "nest">,
): RunScope {
  const { connections, declared, lifetime, face } = parts;
  const { signal, dispose } = lifetime;
  const uses = useConnections(connections, lifetime);
  const { lookUp, find, collect } = uses;
  const names = () => connections.map(({ name }) => name);
  const { begin, ...offers } = createOffers(connections, uses);
  const entered = createOverlappingRuns(parts);
  const { waiting, stored, repeats, resumption } = createRunWaiting(parts, {
    find,
    onSession: onSessionIn({ nest }),
    resume: face && ((of, messages, options) => face.resume(of, scope, messages, options)),
  });
  const management = createManagement(connections, lifetime, lookUp);

  const run: ConnectionRun = {
    connections: describeDeclared(declared),
    // Its declaration has to be one for AI SDK 6, too.
    ...(face && { tools: createTools(face, async (use) => await use(offers)) }),
    async client(name) {
      const connection = find(name);
      // An own connection ends by itself. A shared one continues for the others.
      const shared = lifetime.owns(connection) ? undefined : signal;
      const client = await abortable(connection.frameworkClient(), shared);
      return clientForUse(connection, client);
    },
    fetch: (name) => lookUp(name).createFetch(),
    async instructions() {
      const entries = await collect(names(), instructionsOf, "omit");
      return Object.fromEntries(entries.flat());
    },
    async call(name, tool, input, options) {
      return await callTool(find(name), tool, input, options);
    },
    async ready(name, options) {
      const connection = find(name);
      try {
        const { waitUntilReady } = await import("./wait-until-ready.ts");
        await connection.trace({ operation: "ready" }, () =>
          waitUntilReady(connection, signal, options),
        );
      } catch (error) {
        connection.tell(error);
        throw error;
      }
    },
    async enter(use, options = {}) {
      const { onClose } = checkOptions(runSchema, options);
      lifetime.throwIfOver();
      return await runToEndOfStream(
        (inRun) => entered.run(() => scope.enter(inRun), onClose),
        () => use(run),
        signal,
        entered.reportNotCommitted,
      );
    },
    ...management,
    // Few steps watch.
    ...loadedLater<RunWatches>(["watch", "unwatch"], async () =>
      (await import("../waiting/watches.ts")).createWatches({ stored, find }),
    ),
    named,
    waiting,
    dispose,
    [Symbol.asyncDispose]: dispose,
  };
  const enter = <T>(use: () => T) => enterScope(scope, use);
  const scope: RunScope = { run, nest, enter, stored, repeats };
  const lent = { ...offers, find, scope, resumption, begin };
  withInternals(run, async (use) => await use(lent));
  return scope;
}

async function instructionsOf(connection: LiveConnection) {
  const { instructions } = await connection.client();
  return instructions ? [[connection.name, instructions] as const] : [];
}

type OnClose = NonNullable<RunOptions["onClose"]>;

/** Lets overlapping uses of one run end together. */
function createOverlappingRuns({ lifetime, hasOwner }: RunParts) {
  const { signal, inUse, track, dispose, noteFailure } = lifetime;
  let running: ReturnType<typeof start> | undefined;
  const closeRun = async () => {
    if (!hasOwner) await dispose();
  };
  // Later, because the calls under way are cancelled first, and a closed client cannot do that.
  const closeEarly = () => queueMicrotask(() => void closeRun());

  /** Starts the part that all overlapping runs share. */
  const start = () => {
    const onClose: OnClose[] = [];
    const failures: unknown[] = [];
    signal.addEventListener("abort", closeEarly, { once: true });
    const closeNext = async () => {
      await closeRun();
      for (let call = onClose.shift(); call !== undefined; call = onClose.shift()) {
        // If one run cannot save, the others still can.
        try {
          await call();
        } catch (error) {
          failures.push(error);
        }
      }
      if (failures.length > 0) throw failures[0];
    };
    let closing = Promise.resolve();
    /** Called by `shutdown` and at the end. If the first call fails, the second fails with its error. */
    const close = async () => {
      closing = closing.then(closeNext, closeNext);
      await closing;
    };
    const forget = track(close);
    return {
      uses: 0,
      onClose,
      async end() {
        this.uses -= 1;
        if (this.uses > 0) return;
        running = undefined;
        signal.removeEventListener("abort", closeEarly);
        await close().finally(forget);
      },
    };
  };

  /** Tells of an `onClose` that failed where no caller waits. */
  const reportNotCommitted = () => {
    for (const { name, emit } of inUse) {
      emit({ type: "close-failed", connection: name, reason: "not-committed" });
    }
  };

  /** Runs `use`; `onClose` is called once when the last overlapping run is over, and on `shutdown`. */
  const run = async <T>(use: () => Promise<T>, onClose: OnClose | undefined): Promise<T> => {
    running ??= start();
    const current = running;
    current.uses += 1;
    if (onClose) current.onClose.push(onClose);
    let result;
    try {
      signal.throwIfAborted();
      result = await use();
    } catch (error) {
      if (!signal.aborted) noteFailure();
      // The caller must get the run's own failure.
      await current.end().catch(reportNotCommitted);
      throw error;
    }
    await current.end();
    return result;
  };
  return { run, reportNotCommitted };
}

/** How long a server may take to answer, in milliseconds. */
const defaultMs = 5_000;

/**
 * The part of a run that looks after its connections, under a name as well: `named.run` gives the run of a name.
 * A selection, as sessions have it, would mean the run's own connections where it says no name, and there all.
 */
function createManagement(
  connections: readonly RunConnection[],
  lifetime: RunLifetime,
  lookUp: (name: string) => LiveConnection,
): Pick<ConnectionRun, "info" | "status" | "restart" | "clearTools"> {
  /** Nothing is used by asking about it. */
  const select = (only: string | undefined) => {
    lifetime.throwIfOver(only);
    const selected = connections.filter(({ name }) => only === undefined || name === only);
    if (only === undefined || selected.length > 0) return selected.map(({ live }) => live());
    const allNames = connections.map(({ name }) => name);
    throw notDeclared(only, allNames, "connection");
  };
  return {
    info: async () => select(undefined).map(describe),
    async status(options = {}) {
      const { connection: only, timeoutMs = defaultMs } = checkOptions(statusSchema, options);
      const asking = select(only).map(async (connection) => {
        const check = await connection.manage.check(timeoutMs);
        return { ...describe(connection), ...check };
      });
      return await Promise.all(asking);
    },
    async restart(name, options = {}) {
      const { timeoutMs = defaultMs } = checkOptions(timeSchema, options);
      const connection = lookUp(name);
      return { ...slotOf(connection), ...(await connection.manage.restart(timeoutMs)) };
    },
    clearTools: async (name) => lookUp(name).manage.forgetTools(),
  };
}

function describe(connection: LiveConnection): ConnectionInfo {
  const { session, manage } = connection;
  return { ...slotOf(connection), session, ...manage.inspect() };
}

function slotOf({ name: connection, keptAs }: LiveConnection) {
  return { connection, ...keptAs };
}
