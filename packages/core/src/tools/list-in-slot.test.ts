import { expect, test } from "vitest";
import { sendResult, startMcpServer, toolDefinition } from "../../test/mcp-server.ts";
import { saveSession, startStep } from "../../test/step.ts";
import { manageSlot } from "./manage-slot.ts";
import { inSlotKey } from "./tool-list.ts";

const mark = { [inSlotKey]: true };
const marked = { _meta: mark };

/** A step on a server with these pages of tools, and what was sent to list them. */
async function startListing(pages: unknown[][]) {
  const server = await startMcpServer();
  const snapshot = await saveSession(server);
  server.use(({ message }, response, next) => {
    if (message?.method !== "tools/list") return next();
    const page = Number(message.params?.cursor ?? 0);
    const nextCursor = page + 1 < pages.length ? `${page + 1}` : undefined;
    sendResult(response, message.id, { tools: pages[page], nextCursor });
  });
  const sent = () => server.requests.map(({ message }) => message.params);
  return { server, sent, ...startStep(server, { snapshot }) };
}

test("who takes the tools from the slot gets none in the answer, from the server and from the kept list", async () => {
  const tools = [toolDefinition("a"), toolDefinition("b")];
  const { client, slot, sent } = await startListing([tools]);
  for (const _ of ["sent", "kept"]) {
    const { result } = await client.request("tools/list", marked);
    expect(result).toEqual({ tools: [], ...marked });
    expect(manageSlot(slot).listed()).toMatchObject({ tools });
  }
  // Others on the slot get the list.
  expect((await client.request("tools/list")).result).toEqual({ tools });
  expect(sent()).toEqual([undefined]);
});

test("the server gets what else is in the request", async () => {
  const { client, slot, sent } = await startListing([[toolDefinition("a")], [toolDefinition("b")]]);
  const trace = { traceparent: "00-1-2-01" };
  await client.request("tools/list", { _meta: { ...mark, ...trace } });
  const { result } = await client.request("tools/list", { cursor: "1", ...marked });
  expect(result).toEqual({ tools: [], ...marked });
  expect(sent()).toEqual([{ _meta: trace }, { cursor: "1" }]);
  expect(
    manageSlot(slot)
      .listed()
      ?.tools?.map(({ name }) => name),
  ).toEqual(["a", "b"]);
});

test("a large list is left in the slot, too", async () => {
  const tools = [{ ...toolDefinition("a"), description: "x".repeat(2_000_000) }];
  const { client, slot } = await startListing([tools]);
  expect((await client.request("tools/list", marked)).result).toEqual({ tools: [], ...marked });
  expect(manageSlot(slot).listed()).toMatchObject({ tools });
});

test("a page that the slot cannot take goes to the client", async () => {
  const tools = [toolDefinition("b")];
  const { client, slot } = await startListing([[toolDefinition("a")], tools]);
  // Its first page was never asked for.
  const { result } = await client.request("tools/list", { cursor: "1", ...marked });
  expect(result).toEqual({ tools });
  expect(manageSlot(slot).listed()).toEqual({});
});

test.each<[string, unknown]>([
  ["without a name", { inputSchema: {} }],
  ["without a schema", { name: "a" }],
  ["with a schema that is none", { name: "a", inputSchema: { properties: [] } }],
  ["with a description that is no text", { ...toolDefinition("a"), description: 1 }],
  ["with a title that is no text", { ...toolDefinition("a"), title: {} }],
  ["with a hint that is no flag", { ...toolDefinition("a"), annotations: { readOnlyHint: "yes" } }],
  ["with a meta that is no object", { ...toolDefinition("a"), _meta: [] }],
  ["that is no object", "a"],
])("the client reads a list itself that has a tool %s", async (_, tool) => {
  const { client } = await startListing([[tool]]);
  expect((await client.request("tools/list", marked)).result).toEqual({ tools: [tool] });
});
