import { setTimeout as wait } from "node:timers/promises";
import * as acts from "./acts.ts";
import { type Act, type Exchange, type SeenRequest, type Server, startFront } from "./front.ts";

/** Which requests meet a fault. */
export interface FaultOptions {
  /** A JSON-RPC method, a tool, `GET`, `DELETE`, `*` for all of MCP, or a function. @default "tools/call" */
  readonly on?: string | ((request: SeenRequest) => boolean) | undefined;
  /** How many requests meet it. @default all until `heal` */
  readonly times?: number | undefined;
  /** Whether the server first carries out the request that meets the fault. @default false */
  readonly carriedOut?: boolean | undefined;
}

/** A server, or what stands before one, that behaves as a test tells it. */
export type FaultyProxy = Awaited<ReturnType<typeof createFaultyProxy>>;

/**
 * Stands before an MCP server of yours, and makes it faulty: `agent → proxy → server`.
 *
 * @param options.target the server's URL
 * @example
 * const proxy = await createFaultyProxy({ target: "http://localhost:8931/mcp" });
 * proxy.hang({ times: 1 });
 */
export async function createFaultyProxy(options: { readonly target: string | URL }) {
  return await createFaults(new URL(options.target));
}

/** Answers a request before all faults, or lets it pass with `undefined`. */
export type Guard = (exchange: Exchange) => Promise<Response | undefined>;

/** A server that is faulty when a test wants it. */
export async function createFaults(server: Server) {
  const planned = new Set<{ matches: ReturnType<typeof matcherOf>; act: Act; left: number }>();
  /** The sessions up to this one are forgotten, and how that is said. */
  let forgotten = { upTo: 0, dialect: "not-found" as acts.LostSessionDialect };
  let guard: Guard | undefined;

  const { ids, setOpen, ...front } = await startFront(server, async (exchange) => {
    const { seen } = exchange;
    const refused = await guard?.(exchange);
    if (refused !== undefined) return refused;
    if (seen.session !== undefined && seen.session <= forgotten.upTo) {
      return acts.lostSessionDialects[forgotten.dialect]();
    }
    const fault = [...planned].findLast(({ left, matches }) => left > 0 && matches(seen));
    if (fault === undefined) return await exchange.carryOut();
    fault.left -= 1;
    return await fault.act(exchange);
  });

  /** Answers as `act` does. The fault that was planned last comes first. */
  const meet = (act: Act, options: FaultOptions = {}) => {
    const { on = "tools/call", times = Infinity, carriedOut = false } = options;
    const late: Act = async (exchange) => {
      await (await exchange.carryOut()).text();
      return await act(exchange);
    };
    const fault = { act: carriedOut ? late : act, matches: matcherOf(on), left: times };
    planned.add(fault);
    /** Ends this fault. */
    const heal = () => void planned.delete(fault);
    return { heal };
  };

  const faulty = {
    ...front,
    meet,
    /** Has `next` answer before all faults; `undefined` removes it. */
    setGuard: (next: Guard | undefined) => void (guard = next),
    /**
     * Forgets all sessions, as a restart or an idle time-out does.
     *
     * @param options.dialect how it refuses them from now on; by default `"not-found"`
     */
    forgetSessions(options: { dialect?: acts.LostSessionDialect } = {}): void {
      forgotten = { upTo: ids.length, dialect: options.dialect ?? "not-found" };
    },
    /** Breaks all connections, and forgets all sessions, at the same address. */
    async restart(options?: { dialect?: acts.LostSessionDialect }): Promise<void> {
      faulty.forgetSessions(options);
      await setOpen(false);
      await setOpen(true);
    },
    /** Refuses connections and breaks those that are open, until `up`. */
    down: () => setOpen(false),
    /** Takes connections again. */
    up: () => setOpen(true),
    /** Never answers. */
    hang: (options?: FaultOptions) => meet(() => new Promise(() => undefined), options),
    /** Carries requests out after `ms` milliseconds. */
    delay: (ms: number, options?: FaultOptions) =>
      meet(({ carryOut }) => wait(ms).then(() => carryOut()), options),
    /** Answers with this HTTP status, as a gateway does. */
    refuse: (status: number, options?: FaultOptions) =>
      meet(async () => new Response("refused", { status }), options),
    /** Breaks the connection before there is an answer. */
    reset: (options?: FaultOptions) => meet(() => Promise.reject(new Error("reset")), options),
    /**
     * Carries requests out, sends half of the answer, and breaks the connection.
     *
     * @param options.quietly whether the stream ends as if all were well instead; by default not
     */
    cutStreams: (options: FaultOptions & { quietly?: boolean } = {}) =>
      meet(acts.cut(options.quietly ?? false), options),
    /** Sends answers byte by byte. */
    splitStreams: (options?: FaultOptions) => meet(acts.split, options),
    /** Carries requests out, and answers with what breaks the protocol. */
    answerMalformed: (kind: acts.Malformation, options?: FaultOptions) =>
      meet(acts.malform(kind), options),
    /** Carries the next request out, and holds its answer. */
    holdAnswer(options?: Omit<FaultOptions, "times">) {
      const reached = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      // It may be dropped before anybody waits.
      released.promise.catch(() => undefined);
      meet(
        async ({ carryOut }) => {
          const answer = await carryOut();
          reached.resolve();
          await released.promise;
          return answer;
        },
        { ...options, times: 1 },
      );
      return {
        /** Resolves when the server has answered, and the client has seen nothing of it. */
        reached: reached.promise,
        /** Lets it go out. */
        release: () => released.resolve(),
        /** Breaks the client's connection instead. */
        drop: () => released.reject(new Error("dropped")),
      };
    },
    /** Ends all faults; what is forgotten stays forgotten. */
    heal: () => planned.clear(),
    /** Stops listening, and breaks the connections. */
    close: () => setOpen(false),
    /** The same as `close`, for `await using`. */
    [Symbol.asyncDispose]: () => setOpen(false),
  };
  return faulty;
}

function matcherOf(on: NonNullable<FaultOptions["on"]>) {
  if (typeof on === "function") return on;
  return ({ rpcMethod, httpMethod, tool }: SeenRequest) =>
    [rpcMethod, httpMethod, tool, "*"].includes(on);
}
