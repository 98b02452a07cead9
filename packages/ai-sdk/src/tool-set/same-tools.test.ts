import type { ToolSet } from "ai";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { sendJson } from "../../../core/test/http-server.ts";
import { answer, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { startApplication } from "../../test/step.ts";
import { defineMcpClientConnection } from "../index.ts";

const text = fc.string({ maxLength: 12 });
const json = fc.jsonValue({ maxDepth: 2 });

const annotations = fc.record(
  {
    title: text,
    readOnlyHint: fc.boolean(),
    destructiveHint: fc.boolean(),
    idempotentHint: fc.boolean(),
    openWorldHint: fc.boolean(),
    "vendor.test/own": json,
  },
  { requiredKeys: [] },
);
const ui = fc.record(
  {
    resourceUri: fc.constant("ui://page"),
    visibility: fc.array(fc.constantFrom("model", "app", "other")),
  },
  { requiredKeys: [] },
);
const definition = fc.record(
  {
    name: fc.constant("look"),
    title: text,
    description: text,
    inputSchema: fc.record(
      {
        type: fc.constant("object"),
        properties: fc.dictionary(text, fc.constantFrom({ type: "string" }, { type: "number" })),
        required: fc.array(text),
        additionalProperties: fc.boolean(),
      },
      { requiredKeys: ["type"] },
    ),
    outputSchema: fc.constant({ type: "object", properties: { sum: { type: "number" } } }),
    annotations,
    _meta: fc.record({ ui, "vendor.test/cost": json }, { requiredKeys: [] }),
  },
  { requiredKeys: ["name", "inputSchema"] },
);

const block = fc.oneof(
  fc.record({ type: fc.constant("text"), text }),
  fc.record({ type: fc.constant("text"), text: fc.constant('{"sum":3}') }),
  fc.record({ type: fc.constant("image"), data: fc.constant("aGk="), mimeType: text }),
  fc.record({ type: fc.constant("audio"), data: fc.constant("aGk="), mimeType: text }),
  fc.record({ type: fc.constant("resource"), resource: fc.record({ uri: text, text }) }),
  fc.record({ type: fc.constant("resource_link"), uri: text, name: text }),
  fc.record({ type: fc.constant("vendor"), own: json }),
  // What no client can read.
  fc.record({ type: fc.constantFrom("text", "image", "resource", "resource_link") }),
  fc.record({ text }),
);
const result = fc.oneof(
  fc.record(
    {
      content: fc.array(block, { maxLength: 3 }),
      structuredContent: fc.oneof(fc.record({ sum: fc.integer() }), json),
      isError: fc.oneof({ weight: 8, arbitrary: fc.boolean() }, { weight: 1, arbitrary: json }),
      _meta: fc.dictionary(fc.constantFrom("a/b", "c/d"), json),
      own: json,
    },
    { requiredKeys: [] },
  ),
  fc.record({ toolResult: json }),
);
const answers = fc.oneof(
  { weight: 5, arbitrary: fc.record({ result }) },
  {
    weight: 1,
    arbitrary: fc.record({
      error: fc.record(
        { code: fc.integer({ min: -32_699, max: -32_600 }), message: text, data: json },
        { requiredKeys: ["code", "message"] },
      ),
    }),
  },
);

const schemas = {
  look: { inputSchema: z.object({}), outputSchema: z.object({ sum: z.number() }) },
};

/** All that an application and a model see of a tool and of a call. */
async function seen(tools: ToolSet) {
  const [[name, tool] = []] = Object.entries(tools);
  const use = { toolCallId: "call-1", messages: [], context: {} };
  const output: unknown = await Promise.resolve()
    .then(async () => await tool!.execute!({}, use as never))
    .catch((error: object) => {
      const { name: kind, message, code, data, cause } = error as Record<string, unknown>;
      const { name: causeKind, message: causeText } = (cause ?? {}) as Error;
      return { kind, message, code, data, causeKind, causeText };
    });
  const forModel = await tool!.toModelOutput!({ toolCallId: "call-1", input: {}, output });
  return JSON.parse(JSON.stringify({ name, tool, output, forModel })) as unknown;
}

/** A step with a session of its own, and one that goes on with it. */
async function inBoth(
  server: { readonly url: string },
  declared: object | undefined,
  look: (tools: ToolSet) => Promise<unknown>,
) {
  const notes = defineMcpClientConnection({
    url: server.url,
    description: "A notebook.",
    session: "stateful",
    ...(declared && { schemas: declared as typeof schemas }),
  });
  const { step } = startApplication({ notes });
  const views: unknown[] = [];
  const use = async (run: { tools: () => Promise<ToolSet> }) =>
    void views.push(await look(await run.tools()));
  await step(await step({}, use), use);
  return views;
}

async function callOne(tools: ToolSet): Promise<unknown> {
  const use = { toolCallId: "call-1", messages: [], context: {} };
  return (await Object.values(tools)[0]!.execute!({}, use as never)) as unknown;
}

test("a typed output may be null", async () => {
  const server = await startNotebookServer();
  const listed = { name: "look", inputSchema: { type: "object" } };
  server.intercept(({ message }, response) => {
    const { method, id } = message ?? {};
    const said = { content: [{ type: "text", text: "null" }] };
    const own = { "tools/list": { tools: [listed] }, "tools/call": said }[String(method)];
    return own ? sendJson(response, 200, { jsonrpc: "2.0", id, result: own }) : "next";
  });
  const declared = { look: { inputSchema: z.object({}), outputSchema: z.null() } };
  expect(await inBoth(server, declared, callOne)).toEqual([null, null]);
});

test("a server's requests in a call get the answers of the client, in its words", async () => {
  const answered: unknown[] = [];
  const server = await startNotebookServer({
    setUp(mcp) {
      mcp.registerTool("ask", {}, async (extra) => {
        const ask = async (method: string, params: object) =>
          await extra.sendRequest({ method, params } as never, z.object({})).then(
            (given: object) => given,
            ({ code, message }) => ({ code, message }),
          );
        const form = { message: "?", requestedSchema: { type: "object", properties: {} } };
        answered.push([
          await ask("ping", {}),
          await ask("roots/list", {}),
          await ask("elicitation/create", form),
        ]);
        return answer("asked");
      });
    },
  });
  const [first, kept] = await inBoth(server, undefined, callOne);
  expect(kept).toEqual(first);
  expect(answered[0]).toEqual([{}, expect.anything(), expect.anything()]);
  expect(answered[1]).toEqual(answered[0]);
});

test.each([
  ["plain", undefined],
  ["typed", schemas],
])("on a kept session %s tools are those of the client", async (_, declared) => {
  const server = await startNotebookServer();
  const shown = fc.asyncProperty(definition, answers, async (listed, answered) => {
    server.intercept(({ message }, response) => {
      if (message?.method === "tools/list")
        return sendJson(response, 200, {
          jsonrpc: "2.0",
          id: message.id,
          result: { tools: [listed] },
        });
      if (message?.method !== "tools/call") return "next";
      return sendJson(response, 200, { jsonrpc: "2.0", id: message.id, ...answered });
    });
    const views = await inBoth(server, declared, seen);
    expect(views[1]).toEqual(views[0]);
  });
  await fc.assert(shown, { numRuns: 60 });
});
