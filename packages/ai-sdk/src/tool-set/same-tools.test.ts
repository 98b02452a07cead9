import type { ToolSet } from "ai";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { sendJson } from "../../../core/test/http-server.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
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
const answer = fc.oneof(
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

test.each([
  ["plain", undefined],
  ["typed", schemas],
])("on a kept session %s tools are those of the client", async (_, declared) => {
  const server = await startNotebookServer();
  const shown = fc.asyncProperty(definition, answer, async (listed, answered) => {
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
    const notes = defineMcpClientConnection({
      url: server.url,
      description: "A notebook.",
      session: "stateful",
      ...(declared && { schemas: declared }),
    });
    const { step } = startApplication({ notes });
    const views: unknown[] = [];
    const look = async (run: { tools: () => Promise<ToolSet> }) =>
      void views.push(await seen(await run.tools()));
    await step(await step({}, look), look);
    expect(views[1]).toEqual(views[0]);
  });
  await fc.assert(shown, { numRuns: 60 });
});
