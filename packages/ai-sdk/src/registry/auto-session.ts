import { checkMs, detach } from "@durable-mcp/core/internal";
import { McpSessionError, type Principal, sessionKey } from "@durable-mcp/core";
import { createClientOfRun } from "../pool/client-of-run.ts";
import type { ConnectionRegistry } from "./connection-registry.ts";
import { createRegistryFacade } from "./registry-facade.ts";

export interface AutoSessionOptions {
  /** On whose behalf the script uses its connections. */
  readonly principal: Principal;
  /** After how long without use its sessions are ended, in milliseconds. @default 300000 (5 minutes) */
  readonly idleTimeoutMs?: number | undefined;
}

/** The implicit registry of a script that opens nothing by hand. */
export interface AutoSession {
  /** Lasts as long as the process; what it uses is made on first use, and again after its end. */
  readonly registry: ConnectionRegistry<any>;
  /** There is none any more, and another provider may have one. */
  readonly release: () => void;
}

/** One for all copies of this package: bundlers like to make several. */
const holderKey = Symbol.for("durable-mcp.autoSession");
const holder = globalThis as { [holderKey]?: AutoSession | undefined };

/** The implicit registry of this process, if a provider has one. */
export function currentAutoSession(): ConnectionRegistry<any> | undefined {
  return holder[holderKey]?.registry;
}

/**
 * Makes the implicit registry of the process. Opens nothing yet.
 *
 * @param options.open makes a registry with sessions that are ended when it is disposed of
 * @param options.track has something closed when the provider is shut down; returns how to forget it
 * @throws {McpSessionError} `PRINCIPAL_REQUIRED`; `CONNECTION_INVALID`, also when the process has one
 */
export function startAutoSession({
  options: { principal, idleTimeoutMs = 300_000 },
  open,
  track,
}: {
  options: AutoSessionOptions;
  open: (principal: Principal) => ConnectionRegistry<any>;
  track: (close: () => Promise<void>) => () => void;
}): AutoSession {
  sessionKey({ connection: "any", principal });
  checkMs(idleTimeoutMs, "autoSession.idleTimeoutMs");
  if (holder[holderKey] !== undefined) {
    throw new McpSessionError(
      "CONNECTION_INVALID",
      "There is a connection provider with autoSession in this process already. Give the option to one provider only, or shut the other down first.",
      { data: { field: "autoSession" } },
    );
  }
  let current: { registry: ConnectionRegistry; forget: () => void } | undefined;
  let uses = 0;
  /** How often a use has begun or ended. */
  let changes = 0;
  let changesAtExit: number | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const end = async () => {
    const { registry, forget } = current ?? {};
    current = undefined;
    clearTimeout(timer);
    offBeforeExit(atExit);
    await registry?.dispose();
    forget?.();
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

  /** Keeps what is open from being idle. @returns how to let go */
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
      // In Node it is not to keep the process; elsewhere it is a number.
      detach(timer);
    };
  };
  const whileHeld = async <T>(work: () => T | Promise<T>): Promise<T> => {
    const release = hold();
    try {
      return await work();
    } finally {
      release();
    }
  };
  const lend = async <T>(use: (registry: ConnectionRegistry) => Promise<T>): Promise<T> =>
    await whileHeld(async () => {
      if (current === undefined) {
        current = { registry: open(principal), forget: track(end) };
        onBeforeExit(atExit);
      }
      return await use(current.registry);
    });
  /** The client outlives the loan; its requests are uses, too. */
  const watchedClient = createClientOfRun({
    throwIfOver: () => undefined,
    watched: whileHeld,
    leaveSomething: () => undefined,
  });

  const registry = createRegistryFacade({
    lend,
    // It opens nothing before it is used.
    example: () => open(principal),
    client: (name) => lend(async (own) => watchedClient(await own.client(name))),
    fetch(name) {
      let own: { of: ConnectionRegistry; fetch: typeof globalThis.fetch } | undefined;
      return async (input, init) =>
        await lend(async (of) => {
          if (own?.of !== of) own = { of, fetch: of.fetch(name) };
          const response = await own.fetch(input, init);
          const method = init?.method ?? (input instanceof Request ? input.method : "GET");
          // A stream that only listens is no use.
          return method.toUpperCase() === "POST" ? heldResponse(response, hold()) : response;
        });
    },
    dispose: end,
  });
  const auto: AutoSession = {
    registry,
    release() {
      if (holder[holderKey] === auto) holder[holderKey] = undefined;
    },
  };
  holder[holderKey] = auto;
  return auto;
}

/**
 * The response, with `release` called once its body was read to the end, failed or was cancelled; at
 * once for one without a body, and for a refusal.
 */
function heldResponse(response: Response, release: () => void): Response {
  if (response.body === null || !response.ok) {
    release();
    return response;
  }
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          controller.close();
        } catch (error) {
          controller.error(error);
        }
        release();
      },
      async cancel(reason) {
        release();
        await reader.cancel(reason);
      },
    },
    // Nothing is read before somebody asks for it.
    { highWaterMark: 0 },
  );
  const { status, statusText, headers } = response;
  return new Response(body, { status, statusText, headers });
}

/** What runtimes with a process have of it. */
interface ProcessEvents {
  readonly on?: ((event: "beforeExit", listener: () => void) => unknown) | undefined;
  readonly off?: ((event: "beforeExit", listener: () => void) => unknown) | undefined;
}

function onBeforeExit(listener: () => void): void {
  (globalThis as { process?: ProcessEvents }).process?.on?.("beforeExit", listener);
}

function offBeforeExit(listener: () => void): void {
  (globalThis as { process?: ProcessEvents }).process?.off?.("beforeExit", listener);
}
