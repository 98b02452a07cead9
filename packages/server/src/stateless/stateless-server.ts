import { AsyncLocalStorage } from "node:async_hooks";
import { invalidOption } from "@durable-mcp/core/internal";
import { inTime } from "../base/in-time.ts";
import type { AuthInfo, JSONRPCRequest } from "../base/mcp-types.ts";
import { type ServedRequest, servedFromWeb } from "../base/served-request.ts";
import { createCloseCallbacks } from "../author/close-callbacks.ts";
import { createEntrance } from "./entrance.ts";
import type { HandlerContext } from "../context/handler-context.ts";
import { PoolClosed } from "../live/live-pool.ts";
import { withRequestState } from "../author/request-state-codec.ts";
import type { RequestState } from "../context/request-state.ts";
import { type ConnectableServer, createServerSession } from "../author/server-session.ts";
import type { Caller } from "../live/session-directory.ts";
import type { SessionHandlerOptions } from "../author/session-handler-options.ts";
import { createStateAccess, stateOptionsOf } from "../context/state-access.ts";
import { createStateFinder, type OwnState } from "../context/state-scope.ts";
import { clientOfRequest, createStatelessExchange } from "./stateless-exchange.ts";
import type { StatelessHandler } from "../author/stateless-handler.ts";
import { createTaskHost, NoRoom } from "../tasks/task-host.ts";
import type { Leg } from "../tasks/task-legs.ts";
import { whenRead } from "./when-read.ts";

/** A POST without a session, or a GET or DELETE, which has no body. */
interface StatelessPost {
  readonly request: ServedRequest;
  /** The body. */
  readonly value: unknown;
  /** The request in it, if it is one. */
  readonly message: JSONRPCRequest | undefined;
  readonly caller: Caller;
  readonly authInfo: AuthInfo | undefined;
  /** The leg of a task that it is. */
  readonly leg?: Pick<Leg<Caller>, "task" | "onAnswer">;
}

/** Serves clients of 2026-07-28, each request with a server of `createServer`. */
export interface StatelessServer {
  /**
   * @throws {PoolClosed} after `close`; `PoolFull` when there is no room,
   *   `TooManyOfPrincipal` when its principal has none, {@link SessionsOnly}
   */
  serve(post: StatelessPost): Promise<Response>;
  /** Requests in flight and tasks at work, without listening streams. */
  readonly uses: number;
  /** Answers those that are in flight with an unknown outcome, and takes no others. */
  close(): Promise<void>;
}

/** The author's server knows the revisions with sessions only. */
export class SessionsOnly extends Error {
  override readonly name = "SessionsOnly";
}

interface RunningExchange {
  build(): Promise<ConnectableServer>;
  giveUp(): Promise<void>;
  /** The last error that the handler reported. */
  error?: Error;
}

// oxlint-disable-next-line max-lines-per-function -- its state, and functions of a few lines each
export function createStatelessServer<State extends object>(
  context: HandlerContext,
  options: SessionHandlerOptions<State>,
): StatelessServer | undefined {
  if (!options.stateless) return undefined;
  const { settings, emit } = context;
  const finder = createStateFinder(context, options.stateScope ?? "session");
  const stateOptions = stateOptionsOf(context, options, undefined);
  const enter = createEntrance(settings.limits);
  const enterLeg = createEntrance(settings.limits);
  const exchanges = new AsyncLocalStorage<RunningExchange>();
  const open = new Set<RunningExchange>();
  const used = new WeakSet<ConnectableServer>();
  const { serverMs } = settings.timeouts;
  let isClosed = false;

  const handler = options.stateless(
    async () => {
      const exchange = exchanges.getStore();
      if (!exchange) throw new Error("createServer was called outside of a request.");
      return await exchange.build();
    },
    {
      legacy: "reject",
      keepAliveMs: settings.timeouts.keepAliveMs,
      onerror: (error) => {
        const exchange = exchanges.getStore();
        if (exchange) exchange.error = error;
        else emit({ type: "failed", error });
      },
    },
  );
  checkHandler(handler);

  async function stateOf({ message, caller }: StatelessPost): Promise<[OwnState, RequestState]> {
    if (!message) return [{}, {}];
    const own = await finder.ofRequest(message, caller);
    return [own, await finder.find(message, caller.owner, own)];
  }

  async function begin(post: StatelessPost) {
    const [own, state] = await stateOf(post);
    const { request, message, caller, authInfo, leg } = post;
    const exchange = createStatelessExchange(state, emit, leg?.onAnswer);
    const tasks = {
      ofRequest: taskHost.of({
        ...{ request, message, caller, authInfo, running: leg?.task },
        answerInstead: (answer) => exchange.answerInstead(answer),
      }),
    };
    // In `createServer` the state can be read already.
    const place = state.row ? state : own;
    const access = createStateAccess(stateOptions, place, () => exchange.running);
    const session = createServerSession(clientOfRequest(post.value as object), access);
    const callbacks = createCloseCallbacks(emit);
    const servers: ConnectableServer[] = [];
    const exchanging: RunningExchange = {
      giveUp: () => exchange.giveUp(),
      build: async () => {
        const { principal } = caller;
        const given = { session, principal, onClose: callbacks.add, tasks };
        const building = options.createServer(
          withRequestState(given, {
            ...{ settings, keys: options.keys, principal },
            running: () => message,
          }),
        );
        const late = `createServer took longer than timeouts.serverMs (${serverMs}).`;
        const server = await inTime(Promise.resolve(building), serverMs, late, (built) =>
          built.close(),
        );
        servers.push(server);
        if (!isStatelessServer(server)) throw sessionsOnly();
        if (used.has(server)) throw serverOfAnother();
        used.add(server);
        exchange.attach(server);
        return server;
      },
    };
    const close = async () => {
      const closing = await Promise.allSettled(servers.map((server) => server.close()));
      for (const result of closing) {
        if (result.status === "rejected") emit({ type: "failed", error: result.reason });
      }
      await callbacks.run();
    };
    return { running: exchanging, close };
  }

  const taskHost = createTaskHost<Caller>(context, {
    enter: (caller) => {
      if (isClosed) throw new NoRoom("This server has shut down. Try again.");
      try {
        return enterLeg(caller);
      } catch {
        throw new NoRoom("Too many tasks at work (limits.requestsPerPrincipal). Try again later.");
      }
    },
    serve: async ({ request, message, caller, authInfo, ...leg }) => {
      const served = servedFromWeb(request);
      const post = { request: served, value: message, message, caller, authInfo, leg };
      await (await serveOne(post, () => {})).text();
    },
  });

  async function serveOne(post: StatelessPost, leave: () => void): Promise<Response> {
    const { request, value, message, authInfo } = post;
    const { running, close } = await begin(post);
    const isListening = message?.method === "subscriptions/listen";
    if (!isListening) open.add(running);
    const end = () => {
      open.delete(running);
      leave();
      void close();
    };
    try {
      const response = await exchanges.run(running, () =>
        handler.fetch(request.request, {
          ...(authInfo && { authInfo }),
          ...(value !== undefined && { parsedBody: value }),
        }),
      );
      if (running.error instanceof SessionsOnly) throw running.error;
      if (response.status === 500) emit({ type: "failed", error: running.error });
      return whenRead(response, end);
    } catch (error) {
      end();
      throw error;
    }
  }

  return {
    get uses() {
      return open.size + taskHost.uses;
    },
    serve: async (post) => {
      if (isClosed) throw new PoolClosed("The handler was closed.");
      const leave = enter(post.caller);
      try {
        return await serveOne(post, leave);
      } catch (error) {
        leave();
        throw error;
      }
    },
    close: async () => {
      isClosed = true;
      await Promise.all([...open].map((exchange) => exchange.giveUp()));
      await handler.close();
      await taskHost.whenEnded();
    },
  };
}

function checkHandler(handler: Partial<StatelessHandler> | undefined): void {
  const { fetch, close } = handler ?? {};
  if (typeof fetch === "function" && typeof close === "function") return;
  throw invalidOption(
    "stateless",
    "must be createMcpHandler of @modelcontextprotocol/server, or return what that returns",
  );
}

/** Whether a server, which may be the `Server` in an `McpServer`, can be told its revision. */
function isStatelessServer(server: ConnectableServer): boolean {
  const { server: inner = server } = server as { server?: unknown };
  const { getNegotiatedProtocolVersion } = inner as { getNegotiatedProtocolVersion?: unknown };
  return typeof getNegotiatedProtocolVersion === "function";
}

function serverOfAnother(): Error {
  return new Error(
    "createServer returned the server of another request. Build a new one each time: session is that of one request.",
  );
}

function sessionsOnly(): SessionsOnly {
  return new SessionsOnly(
    "createServer returned a server of @modelcontextprotocol/sdk 1, which has no revision 2026-07-28. Build it with @modelcontextprotocol/server 2, or leave the option stateless out; clients fall back to a session until then.",
  );
}
