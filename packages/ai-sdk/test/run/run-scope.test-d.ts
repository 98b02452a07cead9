import type { CallToolResult } from "@ai-sdk/mcp";
import type { Tool, ToolSet } from "ai";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  type ConnectionMode,
  type ConnectionRun,
  createConnectionProvider,
  currentConnections,
  defineMcpClientConnection,
  type NamedSession,
  type Principal,
  withConnections,
} from "../../src/index.ts";

const url = "http://127.0.0.1/mcp";
const connections = {
  browser: defineMcpClientConnection({ url, description: "x", session: "stateful" }),
  cart: defineMcpClientConnection({
    url,
    description: "x",
    schemas: { add: { inputSchema: z.object({ item: z.string() }) } },
  }),
};
type Connections = typeof connections;
const provider = createConnectionProvider({ connections });
const registry = provider.create({ principal: { type: "app" } });

test("run gives what its function gives, and knows the connections", () => {
  expectTypeOf(() =>
    registry.enter((own) => {
      expectTypeOf(own).toEqualTypeOf<ConnectionRun<Connections>>();
      return Promise.resolve(7);
    }),
  ).returns.resolves.toBeNumber();
  expectTypeOf(() => registry.enter(() => "now")).returns.resolves.toBeString();
});

test("call and ready take declared connections alone", () => {
  type Registry = typeof registry;
  expectTypeOf<Parameters<Registry["call"]>[0]>().toEqualTypeOf<"browser" | "cart">();
  expectTypeOf<ReturnType<Registry["call"]>>().resolves.toEqualTypeOf<CallToolResult>();
  expectTypeOf<Parameters<Registry["ready"]>[0]>().toEqualTypeOf<"browser" | "cart">();
  // @ts-expect-error not declared
  void (() => registry.tools({ connections: ["nothing"] }));
});

test("currentConnections is of any connections, or of those that it is told", () => {
  expectTypeOf(currentConnections).returns.toExtend<ConnectionRun<any>>();
  expectTypeOf(() => currentConnections()).returns.toEqualTypeOf<ConnectionRun>();
  expectTypeOf(() => currentConnections<Connections>()).returns.toEqualTypeOf<
    ConnectionRun<Connections>
  >();
  expectTypeOf(() => currentConnections({ ephemeral: true, provider })).returns.toEqualTypeOf<
    ConnectionRun<Connections>
  >();
  // @ts-expect-error an ephemeral run needs a provider
  void (() => currentConnections({ ephemeral: true }));
});

test("the tools of currentConnections are a ToolSet, typed where the connections are told", () => {
  expectTypeOf(() => currentConnections().tools()).returns.resolves.toExtend<ToolSet>();
  expectTypeOf(
    async () => (await currentConnections<Connections>().tools()).cart__add,
  ).returns.resolves.toExtend<Tool<{ item: string }> | undefined>();
});

test("withConnections takes modes, and gives what its function gives", () => {
  expectTypeOf(() =>
    withConnections({ browser: "isolate", cart: { named: "x" } }, () => 7),
  ).returns.resolves.toBeNumber();
  void (() => withConnections({ browser: { shared: "login" } }, () => 7));
  // @ts-expect-error one of them
  void (() => withConnections({ browser: { shared: "login", named: "x" } }, () => 7));
  const some = undefined as ConnectionMode | undefined;
  void (() => withConnections({ browser: some }, () => 7));
  // @ts-expect-error not a mode
  void (() => withConnections({ browser: "share" }, () => 7));
  // @ts-expect-error not declared
  void (() => withConnections<number, Connections>({ nothing: "isolate" }, () => 7));
  const options = { principal: { type: "app" } satisfies Principal };
  void (() => withConnections({}, () => 7, options));
});

test("shutdown and onClose may wait", () => {
  expectTypeOf(() => provider.shutdown()).returns.resolves.toBeVoid();
  void (() => registry.enter(() => 7, { onClose: async () => undefined }));
  void (() => registry.enter(() => 7, { onClose: () => undefined }));
});

test("named sessions know the connections, and their runs have the tools of the provider", () => {
  const { named } = registry;
  expectTypeOf(() =>
    named.create("a", { connections: ["cart"] }),
  ).returns.resolves.toEqualTypeOf<NamedSession>();
  // @ts-expect-error not declared
  void (() => named.create("a", { connections: ["unknown"] }));
  expectTypeOf(() =>
    named.run("a", async (own) => {
      expectTypeOf((await own.tools()).cart__add).not.toBeAny();
      return 1;
    }),
  ).returns.resolves.toBeNumber();
  expectTypeOf<"process">().toExtend<NamedSession["connections"][number]["kind"]>();
});
