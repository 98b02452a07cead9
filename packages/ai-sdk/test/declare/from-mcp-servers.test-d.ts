import { expectTypeOf, test } from "vitest";
import {
  createConnectionProvider,
  fromMcpServers,
  type McpClientConnection,
  type McpConnection,
} from "../../src/index.ts";
import { fromMcpServers as fromAllMcpServers } from "../../src/stdio.ts";

test("fromMcpServers takes what JSON.parse gives, and its connections fit a provider", () => {
  const http = fromMcpServers(JSON.parse("{}"), {
    variables: process.env,
    overrides: { github: { session: "stateful", auth: () => "token" } },
    ignore: undefined,
  });
  expectTypeOf(http).toEqualTypeOf<Record<string, McpClientConnection>>();
  createConnectionProvider({ connections: http });

  const all = fromAllMcpServers(
    {},
    { overrides: { memory: { args: ["-v"], description: "It." } } },
  );
  expectTypeOf(all).toEqualTypeOf<Record<string, McpConnection>>();
  createConnectionProvider({ connections: all });

  // An override is an option of a definition.
  // @ts-expect-error misspelt
  fromMcpServers({}, { overrides: { github: { sesion: "stateful" } } });
  // @ts-expect-error a program has no place here
  fromMcpServers({}, { overrides: { memory: { args: [] } } });
  // @ts-expect-error a value is text
  fromMcpServers({}, { variables: { A: 5 } });
});
