import { createFaults } from "./faulty-proxy.ts";
import { createMcp, type McpOptions } from "./mcp.ts";
import { createSignIn } from "./sign-in.ts";

interface FaultyServerOptions extends McpOptions {
  /** Its clock: for tokens that become too old. @default Date.now */
  readonly now?: (() => number) | undefined;
}

/** An MCP server that behaves as a test tells it. */
export type FaultyServer = Awaited<ReturnType<typeof createFaultyServer>>;

/**
 * Starts an MCP server on port 0 of 127.0.0.1, in this process: real HTTP, real sessions, both eras, and all faults that
 * a test asks for while it runs. Steps in other processes reach it by `url`. Close it at the end of the test.
 *
 * @example
 * const server = await createFaultyServer({ tools: { add: ({ item }) => `${item} added` } });
 * server.forgetSessions();
 */
export async function createFaultyServer({ now = Date.now, ...options }: FaultyServerOptions) {
  const { fetch, ...mcp } = createMcp(options);
  const faults = await createFaults(fetch);
  return Object.assign(faults, mcp, {
    /**
     * Wants a sign-in from now on: OAuth 2.1 at the server's own origin, with registration, PKCE, and refresh tokens
     * that are good for one use. One that is used again revokes the grant.
     *
     * @param options.accessTokenSeconds how long an access token is good. @default 3600
     */
    requireSignIn({ accessTokenSeconds = 3_600 } = {}) {
      const signIn = createSignIn(faults.origin, now, accessTokenSeconds);
      faults.setGuard(signIn.guard);
      return signIn;
    },
  });
}
