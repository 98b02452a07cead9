/** The application's arguments: in the calls, and nowhere that the model, a hook or an error shows. */
import { defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { expect, test } from "vitest";
import { z } from "zod";
import { answer, startNotebookServer } from "../../sessions/test/notebook-server.ts";
import { startApplication } from "../../ai-sdk/test/step.ts";
import { loadSessionTools } from "./load-session-tools.ts";

const secret = "a-secret-of-the-application";

async function startShop() {
  const server = await startNotebookServer({
    setUp(mcp) {
      const inputSchema = { token: z.string(), text: z.string() };
      mcp.registerTool("add_item", { inputSchema }, (input) => answer(JSON.stringify(input)));
      mcp.registerTool("refuse", { inputSchema }, ({ token }) => {
        throw new Error(`The token ${token} has expired.`);
      });
    },
  });
  const shop = defineMcpClientConnection({
    url: server.url,
    description: "A shop.",
    session: "stateful",
    providedArguments: { token: ({ tool }) => `${secret}-${tool}` },
  });
  return startApplication({ shop });
}

test("the application's arguments are added beneath the tools, which do not show them", async () => {
  const { step, events } = await startShop();
  const seen: unknown[] = [];
  await step({}, async (registry) => {
    const [add, refuse] = await loadSessionTools(registry, {
      beforeToolCall: ({ args }) => void seen.push({ ...(args as object) }),
    });
    expect(add!.schema).toMatchObject({ properties: { text: {} }, required: ["text"] });
    expect(add!.schema).not.toHaveProperty("properties.token");
    const args = { text: "milk" };
    const call = { type: "tool_call" as const, id: "1", name: add!.name, args };
    const { content } = (await add!.invoke(call as never)) as unknown as { content: string };
    expect(JSON.parse(content)).toEqual({ text: "milk", token: `${secret}-add_item` });
    expect(args).toEqual({ text: "milk" });
    const error: unknown = await refuse!.invoke(args).catch((thrown: unknown) => thrown);
    expect(String(error)).toContain("The token [redacted] has expired.");
    expect(JSON.stringify([error, (error as Error).stack])).not.toContain(secret);
  });
  expect(seen).toEqual([{ text: "milk" }, { text: "milk" }]);
  expect(JSON.stringify(events)).not.toContain(secret);
});
