import type { ConformanceClient } from "../clients/conformance-client.ts";
import { textOf } from "../../clients/own-client.ts";

/** One step: what an application does between two saves. Throws when the server's answer is wrong. */
export type ScenarioStep = (client: ConformanceClient) => Promise<void>;

/** Connects and nothing else. */
const connect: ScenarioStep = async () => {};

const list: ScenarioStep = async (client) => {
  const tools = await client.listTools();
  if (tools.length === 0) throw new Error("the server listed no tool");
};

/** Calls the server's first tool. */
const callTheTool: ScenarioStep = async (client) => {
  const [tool] = await client.listTools();
  if (tool === undefined) throw new Error("the server listed no tool");
  textOf(await client.callTool(tool.name, {}));
};

const add =
  (a: number, b: number): ScenarioStep =>
  async (client) => {
    const text = textOf(await client.callTool("add_numbers", { a, b }));
    if (!text.includes(String(a + b))) throw new Error(`the sum came back as "${text}"`);
  };

/** Sends a tool's schema back as the client had it. */
const echoSchema: ScenarioStep = async (client) => {
  const tools = await client.listTools();
  const tool = tools.find(({ name }) => name === "json_schema_2020_12_tool");
  if (tool === undefined) throw new Error("the server did not list the tool in question");
  textOf(await client.callTool("json_schema_echo", { schema: tool.inputSchema }));
};

const steps: Record<string, ScenarioStep[]> = {
  initialize: [connect, connect],
  tools_call: [list, add(2, 3), add(5, 8)],
  "json-schema-2020-12-preservation": [list, echoSchema],
};

/** The steps of a scenario; at least two each, so that there is something to resume. */
export function scenarioSteps(scenario: string): ScenarioStep[] {
  return steps[scenario] ?? [list, callTheTool];
}

/** Whether the server of the scenario asks the user something, for which a stream has to be open. */
export function needsElicitation(scenario: string): boolean {
  return scenario.startsWith("elicitation-");
}
