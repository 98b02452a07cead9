import { describe, expectTypeOf, test } from "vitest";
import { defineMcpStdioConnection } from "../../src/stdio.ts";
import type { ConnectionContext } from "../../../sessions/src/declare/connection-context.ts";
import { defineMcpClientConnection, type McpClientConnectionOptions } from "../../src/index.ts";
import type { TokenContext } from "../../../sessions/src/declare/credential-options.ts";
import type { ToolApprovalCall, ToolProgress } from "../../../sessions/src/declare/tool-options.ts";

const server = { url: "http://127.0.0.1/mcp", description: "A server." };

describe("auth", () => {
  test("is a function of the context, or has one", () => {
    defineMcpClientConnection({
      ...server,
      auth: (context) => {
        expectTypeOf(context).toEqualTypeOf<TokenContext>();
        return "token";
      },
    });
    defineMcpClientConnection({ ...server, auth: async () => ({ token: "t", expiresAt: 0 }) });
    defineMcpClientConnection({ ...server, auth: () => ({ getToken: () => ({ token: "t" }) }) });
    defineMcpClientConnection({ ...server, auth: { getToken: () => ({ token: "t" }) } });
    defineMcpClientConnection({ ...server, auth: undefined });
    defineMcpClientConnection({ ...server, auth: { getToken: () => undefined } });
    const oauth = {
      getToken: async ({ refused }: TokenContext) => (refused ? undefined : { token: "t" }),
      authorizationFor: () => ({ scopes: ["a"], startUrl: "https://app.test", askedAt: 0 }),
      deleteAll: async () => 1,
      signOut: async () => undefined,
    };
    defineMcpClientConnection({ ...server, auth: oauth });
    // @ts-expect-error a function that returns nothing would send requests without a token
    defineMcpClientConnection({ ...server, auth: () => undefined });
    // @ts-expect-error a token of its own does not expire, and is a header
    defineMcpClientConnection({ ...server, auth: "token" });
  });
});

describe("headers", () => {
  test("are values, promises, functions, or a function of them all", () => {
    const headers = {
      "x-value": "a",
      "x-promise": Promise.resolve("a"),
      "x-function": ({ connection }: ConnectionContext) => connection,
    };
    defineMcpClientConnection({ ...server, headers });
    defineMcpClientConnection({
      ...server,
      headers: (context) => {
        expectTypeOf(context).toEqualTypeOf<ConnectionContext>();
        return headers;
      },
    });
    defineMcpClientConnection({ ...server, headers: async () => headers });
    // @ts-expect-error a value is text
    defineMcpClientConnection({ ...server, headers: { "x-value": 5 } });
    // @ts-expect-error a function that returns nothing
    defineMcpClientConnection({ ...server, headers: () => undefined });
  });
});

describe("client", () => {
  test("has a name and a version", () => {
    const client = { name: "shop", version: "1.0.0" };
    defineMcpClientConnection({ ...server, client });
    defineMcpStdioConnection({ command: "server", description: "It.", client });
    expectTypeOf<McpClientConnectionOptions["client"]>().extract<undefined>().not.toBeNever();
    // @ts-expect-error the specification requires a version
    defineMcpClientConnection({ ...server, client: { name: "shop" } });
  });
});

describe("waiting", () => {
  test("is on, or says for what, on every HTTP connection", () => {
    expectTypeOf(defineMcpClientConnection({ ...server, waiting: true }).type).toBeString();
    const waiting = { for: ["task", "stream"], afterMs: 0, record: "first", maxRounds: 1 } as const;
    defineMcpClientConnection({ ...server, session: "stateful", waiting });
    // @ts-expect-error left out, no call waits
    defineMcpClientConnection({ ...server, waiting: false });
    // @ts-expect-error it is "task"
    defineMcpClientConnection({ ...server, waiting: { for: ["tasks"] } });
    // @ts-expect-error a stdio server's calls end with its process
    defineMcpStdioConnection({ command: "server", description: "It.", waiting: true });
  });
});

describe("approval and onProgress", () => {
  test("are of every transport, and may be undefined", () => {
    const none = { approval: undefined, onProgress: undefined };
    defineMcpClientConnection({ ...server, ...none });
    defineMcpStdioConnection({ command: "notes", description: "A server.", ...none });
    defineMcpClientConnection({
      ...server,
      approval: async (call) => {
        expectTypeOf(call).toEqualTypeOf<ToolApprovalCall>();
        return call.tool === "add" ? { type: "denied", reason: undefined } : "user-approval";
      },
      onProgress: (progress, { tool, toolCallId }) => {
        expectTypeOf(progress).toEqualTypeOf<ToolProgress>();
        expectTypeOf([tool, toolCallId] as const).toEqualTypeOf<
          readonly [string, string | undefined]
        >();
      },
    });
    // @ts-expect-error it would let every call run
    defineMcpClientConnection({ ...server, approval: () => "ask" });
  });
});

describe("what lasts", () => {
  test("is said for each transport, and may be left undefined", () => {
    const program = { command: "a", description: "A server." };
    const lasting = { maxAgeMs: undefined, except: undefined };
    const stateful = { mode: "stateful", ...lasting } as const;
    defineMcpClientConnection({ ...server, session: stateful });
    defineMcpStdioConnection({ ...program, reuse: false, session: lasting });
    const session = { maxAgeMs: 60_000, except: ["screenshot"] };
    expectTypeOf(defineMcpStdioConnection({ ...program, session }).type).toBeString();
    // @ts-expect-error a time is a number of milliseconds
    defineMcpStdioConnection({ ...program, session: { maxAgeMs: "1h" } });
    // @ts-expect-error a flag is no text
    defineMcpStdioConnection({ ...program, reuse: "no" });
  });
});
