import { AsyncLocalStorage } from "node:async_hooks";
import { invalidOption } from "@durable-mcp/core/internal";
import { servedFromWeb } from "../base/served-request.ts";
import { createEntrance } from "./entrance.ts";
import type { HandlerContext } from "../context/handler-context.ts";
import { PoolClosed } from "../live/live-pool.ts";
import type { Caller } from "../live/session-directory.ts";
import type { SessionHandlerOptions } from "../author/session-handler-options.ts";
import {
  createExchanges,
  type RunningExchange,
  SessionsOnly,
  type StatelessPost,
} from "./begin-exchange.ts";
import type { CreateStatelessHandler, StatelessHandler } from "../author/stateless-handler.ts";
import { createTaskHost } from "../tasks/task-host.ts";
import { NoRoom } from "../tasks/task-legs.ts";
import { whenRead } from "./when-read.ts";

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

export function createStatelessServer<State extends object>(
  context: HandlerContext,
  options: SessionHandlerOptions<State>,
): StatelessServer | undefined {
  if (!options.stateless) return undefined;
  const { settings, emit } = context;
  const enter = createEntrance(settings.limits);
  const enterLeg = createEntrance(settings.limits);
  const exchanges = new AsyncLocalStorage<RunningExchange>();
  const open = new Set<RunningExchange>();
  let isClosed = false;
  const handler = authorHandler(options.stateless, exchanges, context);
  const begin = createExchanges(context, options, (request) => taskHost.of(request));

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

/** Serves each request with the server that its exchange builds. */
function authorHandler(
  create: CreateStatelessHandler,
  exchanges: AsyncLocalStorage<RunningExchange>,
  { settings, emit }: HandlerContext,
): StatelessHandler {
  const handler = create(
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
  return handler;
}
