import { onTestFinished } from "vitest";
import {
  createConnectionProvider,
  defineMcpClientConnection,
  type McpClientConnectionOptions,
} from "../src/index.ts";
import { collectEvents } from "./collect-events.ts";
import { startNotebookServer } from "../../sessions/test/notebook-server.ts";
import { alice } from "./step.ts";

/**
 * An application with two stateful notebooks, `browser` and `cart`, a stateless one, `plain`, and a
 * new registry for each call of `create`. Nothing of it may be open when the test ends.
 */
export async function startRuns(options: Partial<McpClientConnectionOptions> = {}) {
  const servers = {
    browser: await startNotebookServer(),
    cart: await startNotebookServer(),
    plain: await startNotebookServer(),
  };
  const { onEvent, ...collected } = collectEvents();
  const connection = (name: keyof typeof servers, session: "stateful" | "stateless" = "stateful") =>
    defineMcpClientConnection({
      url: servers[name].url,
      description: name,
      session,
      ...options,
    });
  const provider = createConnectionProvider({
    connections: {
      browser: connection("browser"),
      cart: connection("cart"),
      plain: connection("plain", "stateless"),
    },
    onEvent,
  });
  onTestFinished(() => provider.shutdown());
  return {
    ...servers,
    servers,
    provider,
    ...collected,
    failures: () => collected.events.filter(({ type }) => type === "close-failed"),
    create: () => provider.create({ principal: alice }),
  };
}

/** The text of a tool's result, as `call` gives it. */
export function textOf(result: unknown): string {
  return (result as { content: { text: string }[] }).content.map(({ text }) => text).join("\n");
}
