import { buildInTime } from "../author/build-in-time.ts";
import { createCloseCallbacks } from "../author/close-callbacks.ts";
import { withRequestState } from "../author/request-state-codec.ts";
import { type ConnectableServer, createServerSession } from "../author/server-session.ts";
import type { SessionHandlerOptions } from "../author/session-handler-options.ts";
import type { AuthInfo, JSONRPCRequest } from "../base/mcp-types.ts";
import type { ServedRequest } from "../base/served-request.ts";
import type { HandlerContext } from "../context/handler-context.ts";
import type { RequestState } from "../context/request-state.ts";
import { createStateAccess, stateOptionsOf } from "../context/state-access.ts";
import { createStateFinder, type OwnState } from "../context/state-scope.ts";
import type { Caller } from "../live/session-directory.ts";
import type { RequestTasks, TaskRequest } from "../tasks/task-host.ts";
import type { Leg } from "../tasks/task-legs.ts";
import { clientOfRequest, createStatelessExchange } from "./stateless-exchange.ts";

/** A POST without a session, or a GET or DELETE, which has no body. */
export interface StatelessPost {
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

/** The author's server knows the revisions with sessions only. */
export class SessionsOnly extends Error {
  override readonly name = "SessionsOnly";
}

/** A request while it is served. */
export interface RunningExchange {
  build(): Promise<ConnectableServer>;
  giveUp(): Promise<void>;
  /** The last error that the handler reported. */
  error?: Error;
}

/** Begins exchanges, each with a server of `createServer` for one request. */
export function createExchanges<State extends object>(
  context: HandlerContext,
  options: SessionHandlerOptions<State>,
  tasksOf: (request: TaskRequest<Caller>) => RequestTasks,
) {
  const { settings, emit } = context;
  const finder = createStateFinder(context, options.stateScope ?? "session");
  const stateOptions = stateOptionsOf(context, options, undefined);
  const used = new WeakSet<ConnectableServer>();

  async function stateOf({ message, caller }: StatelessPost): Promise<[OwnState, RequestState]> {
    if (!message) return [{}, {}];
    const own = await finder.ofRequest(message, caller);
    return [own, await finder.find(message, caller.owner, own)];
  }

  return async (post: StatelessPost) => {
    const [own, state] = await stateOf(post);
    const { request, message, caller, authInfo, leg } = post;
    const exchange = createStatelessExchange(state, emit, leg?.onAnswer);
    const tasks = {
      ofRequest: tasksOf({
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
        const server = await buildInTime(settings, Promise.resolve(building));
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
  };
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
