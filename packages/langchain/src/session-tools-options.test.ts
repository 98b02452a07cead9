import { expect, test } from "vitest";
import { on, startNotebookServer } from "../../sessions/test/notebook-server.ts";
import { startApplication } from "../../ai-sdk/test/step.ts";
import { defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { loadSessionTools } from "./load-session-tools.ts";
import { sessionToolsMiddleware } from "./middleware.ts";

test.each<[string, unknown, string, RegExp]>([
  ["a misspelt option", { onUnavailble: "throw" }, "onUnavailble", /onUnavailable\?/],
  ["a wrong value", { onUnavailable: "ignore" }, "onUnavailable", /"omit" or "throw"/],
  ["a name in the place of a list", { connections: "notes" }, "connections", /list/],
  ["a name of tools", { additionalToolNamePrefix: "x" }, "additionalToolNamePrefix", /named/],
  ["no object", 5, "options", /object/],
])("%s is refused, by loadSessionTools and by the middleware", async (_, options, field, fix) => {
  const refused = expect.objectContaining({
    code: "CONNECTION_INVALID",
    data: { field },
    message: expect.stringMatching(fix),
  });
  const { provider } = startApplication({});
  await expect(loadSessionTools(provider.create({}), options as any)).rejects.toThrow(refused);
  expect(() => sessionToolsMiddleware(options as any)).toThrow(refused);
});

test("the adapter's own options are its own", async () => {
  const { provider } = startApplication({});
  const options = { useStandardContentBlocks: true, throwOnLoadError: true };
  expect(await loadSessionTools(provider.create({}), options)).toEqual([]);
});

test("a required connection is asked first, and one that is down is thrown", async () => {
  const server = await startNotebookServer();
  const notes = defineMcpClientConnection({
    url: server.url,
    description: "A notebook.",
    session: "stateful",
    required: true,
  });
  const { step } = startApplication({ notes });
  const session = await step({}, (registry) => loadSessionTools(registry));
  server.requests.length = 0;
  await step(session, (registry) => loadSessionTools(registry));
  expect(server.log).toEqual(["POST ping"]);
  server.intercept(on("POST", (__, response) => void response.writeHead(503).end()));
  await step(session, async (registry) => {
    await expect(loadSessionTools(registry)).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { connection: "notes", status: 503 },
    });
  });
});
