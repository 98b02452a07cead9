import { createFaults } from "./faulty-proxy.ts";
import { startFront } from "./front.ts";
import { createMcp, type Era, type FaultyTools, type QuestionRound } from "./mcp.ts";
import { createSignIn } from "./sign-in.ts";

interface FaultyServerOptions {
  readonly tools: FaultyTools;
  /** Whether it gives clients of 2025-11-25 and before a session. @default true */
  readonly sessions?: boolean | undefined;
  /** The revisions that it speaks. @default "both" */
  readonly era?: Era | undefined;
  /** Its clock: for questions and tokens that become too old. @default Date.now */
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
export async function createFaultyServer({
  tools,
  sessions = true,
  era = "both",
  now = Date.now,
}: FaultyServerOptions) {
  const plan = { tools, era, now, hasSessions: sessions, questions: new Map() };
  const mcp = createMcp(plan);
  const faults = createFaults(await startFront(mcp.fetch));
  const forget = faults.forgetSessions.bind(faults);
  return Object.assign(faults, {
    /** What really happened: each time that a tool did what it does, in order. */
    ledger: mcp.ledger,
    forgetSessions(options?: Parameters<typeof forget>[0]) {
      mcp.forget();
      forget(options);
    },
    /**
     * Has a tool ask a person before it does what it does: with `input_required` in 2026-07-28, on the open stream
     * before. A person who declines has nothing done. Without rounds it asks no more.
     *
     * @param rounds what it asks, one round after the other
     * @param options.goodForMs how long an answer may take. @default for ever
     */
    ask(
      tool: string,
      rounds: readonly QuestionRound[],
      { goodForMs = Infinity }: { goodForMs?: number } = {},
    ): void {
      plan.questions.set(tool, { rounds, goodForMs });
    },
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
    /** Offers other tools. Sessions that are open get `notifications/tools/list_changed`. */
    setTools(next: FaultyTools): void {
      plan.tools = next;
      mcp.retool();
    },
    /** Speaks other revisions, as after a deploy. */
    setEra: (next: Era) => void (plan.era = next),
  });
}
