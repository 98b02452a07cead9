import { McpSessionError } from "@durable-mcp/core";
import { BodyNotRead, wait, within } from "@durable-mcp/core/internal";
import { refusal } from "./base/answers.ts";
import type { DurableSessionsAdmin } from "./base/centre.ts";
import { checkGatewayOptions, type GatewayOptions } from "./base/gateway-options.ts";
import { createServe } from "./http/serve.ts";
import { createClientSessions } from "./session/client-sessions.ts";
import { createCentre } from "./session/upstreams.ts";

/**
 * A gateway. Its other functions are those of `admin` of durable sessions, for the operator's own programs: a client's
 * session is an agent session of the agent `gateway`, under a digest of the client's id.
 */
export interface Gateway extends DurableSessionsAdmin {
  /** Serves a request of a client, at any path whose last part names a connection. Never rejects. */
  readonly fetch: (request: Request) => Promise<Response>;
  /**
   * For a deploy: refuses requests with 503, waits for calls under way, and closes what is open in this process.
   * Clients go on at another process.
   *
   * @param options.timeoutMs for the calls, and for the rest, in milliseconds; by default 10000
   */
  readonly shutdown: (options?: { readonly timeoutMs?: number | undefined }) => Promise<void>;
}

/**
 * Creates a gateway: any MCP client, in any language, keeps its session over restarts of the server and of the gateway.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function createGateway(options: GatewayOptions): Gateway {
  checkGatewayOptions(options);
  const centre = createCentre(options);
  const sessions = createClientSessions(centre, options.idleMs ?? 300_000);
  const serve = createServe(centre, sessions, options);
  const underWay = new Set<Promise<unknown>>();
  let isShutDown = false;
  const [code, headers] = [-32_603, { "retry-after": "1" }];

  const untilCallsAreOver = async () => {
    await Promise.allSettled(underWay);
    while (await sessions.isCalling()) await wait(50);
  };
  return {
    ...centre.sessions.admin,
    async fetch(request) {
      if (isShutDown) return refusal(503, "The gateway is being stopped.", { code, headers });
      const serving = serve(request).catch((error: unknown) => {
        if (error instanceof BodyNotRead) return refusal(400, error.message);
        // A store, or a function of the application, has failed. Some drivers add what they were to write.
        const why = McpSessionError.isInstance(error) ? error.message : error;
        console.error("The gateway could not answer a request.", why);
        return refusal(503, "The gateway cannot serve this now.", { code });
      });
      underWay.add(serving);
      return await serving.finally(() => underWay.delete(serving));
    },
    async shutdown({ timeoutMs = 10_000 } = {}) {
      isShutDown = true;
      await within(timeoutMs, untilCallsAreOver());
      await within(timeoutMs, sessions.closeAll());
      await within(timeoutMs, centre.programs.close());
      await centre.sessions.shutdown({ timeoutMs });
    },
  };
}
