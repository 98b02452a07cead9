import type { InputResponse, InputResponses, WaitingCall } from "@durable-mcp/core/waiting";
import { filledForm } from "../../clients/own-client.ts";
import type { Called, LegClient } from "./leg-client.ts";

/** What one process does. It shares nothing with the others but the store. Throws when it went wrong. */
export type Leg = (client: LegClient) => Promise<void>;

/** What the suite tells a client. */
export interface LegContext {
  readonly toolCalls?: readonly { name: string; arguments: Record<string, unknown> }[];
}

const list: Leg = async (client) => {
  if ((await client.listTools()).length === 0) throw new Error("the server listed no tool");
};

/** Lists the tools of a server that has none. */
const listNone: Leg = async (client) => void (await client.listTools());

function call(name: string, args: Record<string, unknown> = {}, expected = ""): Leg {
  return async (client) => expectText(await client.callTool(name, args), expected);
}

/** Calls a tool of a server that then asks, and leaves the call to wait. */
function ask(tool: string): Leg {
  return async (client) => {
    const called = await client.callTool(tool, {});
    if (!("waiting" in called)) throw new Error(`${tool} does not wait: "${called.text}"`);
  };
}

/** Finds the call that an earlier process left, and agrees to what it asks. */
function agree(tool: string, expected: string): Leg {
  return async (client) => {
    const waiting = (await client.waiting()).filter((each) => each.tool === tool);
    if (waiting.length !== 1) throw new Error(`${waiting.length} calls of ${tool} wait`);
    const [{ id, requests }] = waiting as [WaitingCall];
    expectText(await client.answer(id, agreement(requests)), expected);
    const left = (await client.waiting()).filter((each) => each.tool === tool);
    if (left.length > 0) throw new Error(`${tool} still waits after its answer`);
  };
}

/** For clients that read from the list which arguments belong into headers. */
function inOrder(one: Leg, other: Leg): Leg {
  return async (client) => {
    await one(client);
    await other(client);
  };
}

function both(one: Leg, other: Leg): Leg {
  return async (client) => void (await Promise.all([one(client), other(client)]));
}

/** A person who says yes: what a form suggests, and every box checked. */
function agreement(requests: WaitingCall["requests"]): InputResponses {
  return Object.fromEntries(
    Object.entries(requests).map(([key, { params }]): [string, InputResponse] => {
      if (params === undefined || !("requestedSchema" in params))
        return [key, { action: "accept" }];
      const schema = params.requestedSchema as { properties: Record<string, { type: string }> };
      const boxes = Object.entries(schema.properties).filter(([, { type }]) => type === "boolean");
      const content = {
        ...Object.fromEntries(boxes.map(([name]) => [name, true])),
        ...filledForm(schema),
      };
      return [key, { action: "accept", content }];
    }),
  );
}

function expectText(called: Called, expected: string): void {
  if (!("text" in called)) throw new Error(`${called.waiting.tool} waits and should not`);
  if (!called.text.includes(expected)) {
    throw new Error(`"${expected}" was expected, and the answer is "${called.text}"`);
  }
}

/** Sends a tool's schema back as the client had it. */
const echoSchema: Leg = async (client) => {
  const tools = await client.listTools();
  const tool = tools.find(({ name }) => name === "json_schema_2020_12_tool");
  if (tool === undefined) throw new Error("the server did not list the tool in question");
  await client.callTool("json_schema_echo", { schema: tool.inputSchema });
};

/** Calls everything that the client offers, with an argument for what is required. */
const callAll: Leg = async (client) => {
  const tools = await client.listTools();
  for (const { name } of tools) await client.callTool(name, { region: "north" });
};

const unrelated = call("test_mrtr_unrelated", {}, "unrelated-ok");

const legs: Record<string, (context: LegContext) => readonly Leg[]> = {
  "sep-2322-client-request-state": () => [
    ask("test_mrtr_echo_state"),
    unrelated,
    ask("test_mrtr_no_state"),
    both(agree("test_mrtr_echo_state", "echo-state-ok"), unrelated),
    agree("test_mrtr_no_state", "no-state-ok"),
    call("test_mrtr_no_result_type", {}, "no-result-type-test-ok"),
  ],
  tools_call: () => [
    list,
    call("add_numbers", { a: 2, b: 3 }, "5"),
    call("add_numbers", { a: 5, b: 8 }, "13"),
  ],
  "request-metadata": () => [listNone, listNone],
  "http-standard-headers": () => [list, call("test_headers"), (client) => client.readFirst()],
  "http-custom-headers": ({ toolCalls = [] }) =>
    toolCalls.map(({ name, arguments: args }) => inOrder(list, call(name, args))),
  "http-invalid-tool-headers": () => [callAll],
  "json-schema-ref-no-deref": () => [list, list],
  "json-schema-2020-12-preservation": () => [list, echoSchema],
};

/** The legs of a scenario, each for a process of its own. */
export function scenarioLegs(scenario: string, context: LegContext): readonly Leg[] {
  const of = legs[scenario];
  if (of === undefined) throw new Error(`there are no legs for the scenario ${scenario}`);
  return of(context);
}
