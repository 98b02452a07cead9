import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startEverythingServer } from "../servers/everything.ts";
import { startNotebookServer } from "../servers/notebook.ts";
import { balanced, startGateway } from "./gateway-process.ts";

const textOf = (result: object) =>
  (result as { content: { text?: string }[] }).content.map(({ text = "" }) => text).join("\n");

/** An unmodified client that answers questions, roots and sampling. */
async function connect(url: string, fetch = globalThis.fetch) {
  const client = new Client(
    { name: "unchanged", version: "1.0.0" },
    { capabilities: { roots: { listChanged: true }, sampling: {}, elicitation: {} } },
  );
  client.setRequestHandler(ListRootsRequestSchema, () => ({
    roots: [{ uri: "file:///work", name: "work" }],
  }));
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    ...{ model: "scripted", role: "assistant" },
    content: { type: "text", text: "sampled" },
  }));
  client.setRequestHandler(ElicitRequestSchema, () => ({
    action: "accept",
    content: { name: "Ann" },
  }));
  const reconnectionOptions = {
    ...{ initialReconnectionDelay: 300, maxReconnectionDelay: 1_000 },
    ...{ reconnectionDelayGrowFactor: 1.2, maxRetries: 20 },
  };
  const transport = new StreamableHTTPClientTransport(new URL(url), { fetch, reconnectionOptions });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

/** What a client gets of the server. */
async function seen(client: Client) {
  const { tools } = await client.listTools();
  const { resources } = await client.listResources();
  const { prompts } = await client.listPrompts();
  const completion = await client.complete({
    ref: { type: "ref/prompt", name: "completable-prompt" },
    argument: { name: "department", value: "E" },
  });
  const names = tools.map(({ name }) => name).toSorted();
  const call = async (name: string, args = {}) =>
    textOf(await client.callTool({ name, arguments: args }));
  return {
    ...{ names, resources, prompts, completion },
    roots: await call("get-roots-list"),
    sample: await call("trigger-sampling-request", { prompt: "say", maxTokens: 5 }),
    question: await call("trigger-elicitation-request"),
  };
}

describe("server-everything", () => {
  let server: Awaited<ReturnType<typeof startEverythingServer>>;
  let gateway: Awaited<ReturnType<typeof startGateway>>;
  beforeAll(async () => {
    server = await startEverythingServer();
    gateway = await startGateway({ server: server.url }, { processes: 3 });
  });
  afterAll(async () => {
    await gateway?.stop();
    await server?.stop();
  });
  const url = () => gateway.processes[0]!.urlOf("server");

  test("gives the same tools, resources, prompts, completions, roots, samples and questions as directly", async () => {
    const through = await connect(url(), balanced(gateway.processes));
    const direct = await connect(server.url);
    const wanted = await seen(direct);
    expect(wanted.names.length).toBeGreaterThan(10);
    expect(wanted.sample).toContain("sampled");
    expect(await seen(through)).toEqual(wanted);
  });

  test("goes on with a call whose processes are all killed: all progress, one result, carried out once", async () => {
    const client = await connect(url(), balanced(gateway.processes));
    const progress: number[] = [];
    const calling = client.callTool(
      { name: "trigger-long-running-operation", arguments: { duration: 8, steps: 8 } },
      undefined,
      { onprogress: (step) => void progress.push(step.progress) },
    );
    await expect.poll(() => progress.length).toBeGreaterThanOrEqual(2);
    await Promise.all(gateway.processes.map((each) => each.restart()));
    expect(textOf(await calling)).toContain("Duration: 8 seconds, Steps: 8");
    // This server repeats a call's messages on the listening stream, which the client resumes, too.
    expect([...new Set(progress)]).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });
});

describe("a server without event ids", () => {
  let server: Awaited<ReturnType<typeof startNotebookServer>>;
  let gateway: Awaited<ReturnType<typeof startGateway>>;
  beforeAll(async () => {
    server = await startNotebookServer();
    gateway = await startGateway({ server: server.url });
  });
  afterAll(async () => {
    await gateway?.stop();
    await server?.stop();
  });

  test("a call whose process is killed has an unknown outcome, in the same session, and is not made again", async () => {
    const client = await connect(gateway.processes[0]!.urlOf("server"));
    await client.callTool({ name: "add_note", arguments: { text: "one" } });
    const calling = client.callTool({
      name: "slow_echo",
      arguments: { text: "broken off", delayMs: 20_000 },
    });
    await expect.poll(() => server.runs("broken off")).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await gateway.processes[0]!.restart();
    const result = await calling;
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain("whether the call was carried out is unknown");
    expect(textOf(await client.callTool({ name: "list_notes", arguments: {} }))).toBe("one");
    expect(server.runs("broken off")).toBe(1);
  });

  test("a big answer streams through, as it is", async () => {
    const client = await connect(gateway.processes[0]!.urlOf("server"));
    const direct = await connect(server.url);
    const call = { name: "big", arguments: { bytes: 5_000_000, kind: "text" } };
    expect(textOf(await client.callTool(call)) === textOf(await direct.callTool(call))).toBe(true);
  });
});
