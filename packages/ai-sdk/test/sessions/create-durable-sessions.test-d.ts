import { createMemoryStore } from "@durable-mcp/core";
import type { Tool, ToolSet } from "ai";
import { streamText } from "ai";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  createConnectionProvider,
  createDurableSessions,
  defineMcpClientConnection,
  type DurableSessions,
  type McpClientConnection,
  type Principal,
  type OpenRun,
  type SharedId,
} from "../../src/index.ts";

const principal: Principal = { type: "app" };
const store = createMemoryStore();
const description = "Notes.";
const typed = createDurableSessions({
  provider: createConnectionProvider({
    connections: {
      notes: defineMcpClientConnection({
        url: "http://a/mcp",
        description,
        session: "stateful",
        schemas: { add_note: { inputSchema: z.object({ text: z.string() }) } },
      }),
    },
  }),
  store,
});
const otherNotes = () =>
  defineMcpClientConnection({
    url: "http://a/mcp",
    description,
    session: "stateful",
    schemas: { add_note: { inputSchema: z.object({ count: z.number() }) } },
  });
declare const connections: Record<string, McpClientConnection>;
const untyped = createDurableSessions({
  provider: createConnectionProvider({ connections }),
  store,
});

test("typed tools reach the step and the lease", async () => {
  const result = await typed.run(
    "chat",
    { principal },
    async (run) => (await run.tools()).notes__add_note,
  );
  expectTypeOf(result).toExtend<Tool<{ text: string }> | undefined>();
  const lease = await typed.open("chat", { principal });
  expectTypeOf((await lease.tools()).notes__add_note).toExtend<
    Tool<{ text: string }> | undefined
  >();
});

test("without schemas the tools are a ToolSet", async () => {
  const lease = await untyped.open("chat", { principal });
  expectTypeOf(await lease.tools()).toEqualTypeOf<ToolSet>();
});

test("an attached result keeps its type", async () => {
  const lease = await untyped.open("chat", { principal });
  const result = streamText({ model: "a/b", tools: await lease.tools(), prompt: "go" });
  expectTypeOf(lease.attach(result)).toEqualTypeOf(result);
});

test("connections take the place of a provider, and not its side", async () => {
  const provider = createConnectionProvider({ connections });
  const own = createDurableSessions({ connections: { notes: otherNotes() }, store, pool: {} });
  const lease = await own.open("chat", { principal });
  expectTypeOf((await lease.tools()).notes__add_note).toExtend<
    Tool<{ count: number }> | undefined
  >();
  const forUsers = () => ({ notes: otherNotes() });
  expectTypeOf(createDurableSessions({ connections: forUsers, store })).toEqualTypeOf(own);
  // @ts-expect-error neither
  void (() => createDurableSessions({ store }));
  // @ts-expect-error both
  void (() => createDurableSessions({ connections, provider, store }));
  // @ts-expect-error the provider has a pool, or not
  void (() => createDurableSessions({ provider, store, pool: {} }));
});

test("an implicit session of a store has an id, one of a provider has none", () => {
  const sessionId: string | undefined = "nightly";
  const idleTimeoutMs: number | undefined = undefined;
  const autoSession = { principal, sessionId, idleTimeoutMs };
  type Options = Parameters<typeof createDurableSessions>[0];
  expectTypeOf(autoSession).toExtend<Options["autoSession"]>();
  // @ts-expect-error nobody could find it again
  void (() => createDurableSessions({ connections, store, autoSession: { principal } }));
  void (() => createConnectionProvider({ connections, autoSession: { principal, idleTimeoutMs } }));
  // @ts-expect-error there is no store
  void (() => createConnectionProvider({ connections, autoSession: { principal, sessionId } }));
});

test("only declared connections can be named", () => {
  type Selection = Parameters<typeof typed.restart>[1];
  expectTypeOf<Selection["connection"]>().toEqualTypeOf<"notes" | undefined>();
  expectTypeOf<Selection["principal"]>().toEqualTypeOf<Principal>();
});

test("shared sessions are selected by declared connections, and say whose they are", async () => {
  type Selection = Parameters<typeof typed.end>[1];
  expectTypeOf<Selection["connection"]>().toEqualTypeOf<"notes" | undefined>();
  const [stored] = (
    await untyped.list({ principal, connection: undefined, sessionId: { shared: "inventory" } })
  ).sessions;
  expectTypeOf(stored?.shared).toEqualTypeOf<string | undefined>();
  expectTypeOf(stored?.sessionId).toEqualTypeOf<string | undefined>();
  expectTypeOf<Parameters<typeof typed.end>[0]>().toEqualTypeOf<string | SharedId>();
  const shared = undefined as string | undefined;
  defineMcpClientConnection({
    url: "http://a/mcp",
    description,
    session: { mode: "stateful", shared },
  });
});

test("sessions of any connections are DurableSessions", () => {
  expectTypeOf(untyped).toExtend<DurableSessions>();
  expectTypeOf(typed).toExtend<DurableSessions>();
  expectTypeOf<Awaited<ReturnType<typeof typed.open>>>().toExtend<OpenRun>();
});

test("sessions of other connections are not those that are asked for", () => {
  type Other = DurableSessions<{ notes: ReturnType<typeof otherNotes> }>;
  expectTypeOf<Other>().not.toExtend<typeof typed>();
});
