import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  type ConnectionProvider,
  type McpClientConnection,
  type NamedSession,
  defineMcpClientConnection,
} from "../index.ts";

const cart = defineMcpClientConnection({
  url: "http://cart.test/mcp",
  description: "A cart.",
  session: "stateful",
  schemas: { add_item: { inputSchema: z.object({ item: z.string() }) } },
});
declare const provider: ConnectionProvider<{ cart: typeof cart; notes: McpClientConnection }>;
const { named } = provider.create({ principal: { type: "app" } });

test("named sessions know the connections", () => {
  expectTypeOf(
    named.create("a", { connections: ["cart", "notes"] }),
  ).resolves.toEqualTypeOf<NamedSession>();
  // @ts-expect-error -- There is no such connection.
  void named.create("a", { connections: ["unknown"] });
  // @ts-expect-error -- It is a number of milliseconds.
  void named.create("a", { idleTimeoutMs: "1m" });
});

test("a run of one gives what its callback returns, and has the tools of the provider", () => {
  const running = named.run("a", async (own) => {
    const tools = await own.tools();
    expectTypeOf(tools.cart__add_item).not.toBeAny();
    return 1;
  });
  expectTypeOf(running).resolves.toEqualTypeOf<number>();
});

test("a part of one is a stored session, or a process", () => {
  type Part = NamedSession["connections"][number];
  expectTypeOf<"process">().toExtend<Part["kind"]>();
  expectTypeOf<Part["startedAt"]>().toEqualTypeOf<number | undefined>();
});
