import { McpServer, type ServerContext } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { z } from "zod";
import {
  readMessages,
  takeEvents,
  takeEventId,
  whenListening,
  cancellation,
  toolCall,
} from "../../test/raw-client.ts";
import { createReplicas } from "../../test/replicas.ts";
import type { Notes } from "../../test/notes-server.ts";
import type { ServerSession } from "../index.ts";

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
const question = {
  mode: "form" as const,
  message: "Your name?",
  requestedSchema: { type: "object" as const, properties: { name: { type: "string" as const } } },
};

/** A server of SDK 2 that uses what its transport has to offer. */
function createModernServer(session: ServerSession<Notes>, lines: string[]): McpServer {
  const mcp = new McpServer(
    { name: "modern", version: "1" },
    { capabilities: { logging: {}, resources: { subscribe: true } } },
  );
  const tool = (name: string, run: (context: ServerContext) => unknown) =>
    mcp.registerTool(name, {}, run as never);

  mcp.registerTool("add", { inputSchema: z.object({ text: z.string() }) }, ({ text: note }) => {
    session.state.notes.push(note);
    return text(`${session.state.notes.length} notes`);
  });
  tool("list", () => text(session.state.notes.join(",")));
  tool("progress", async ({ mcpReq }) => {
    const { _meta: meta } = mcpReq;
    const progressToken = meta!.progressToken!;
    for (let progress = 1; progress <= 3; progress += 1) {
      const params = { progressToken, progress };
      await mcpReq.notify({ method: "notifications/progress", params });
    }
    return text("done");
  });
  tool("ask", async ({ mcpReq }) => {
    // On the answer stream of the call; `mcpReq.elicitInput` asks on the listening stream.
    const answer = await mcpReq.send({ method: "elicitation/create", params: question });
    return text(JSON.stringify((answer as { content: unknown }).content));
  });
  tool("log", async ({ mcpReq }) => {
    await mcpReq.log("debug", "not heard");
    await mcpReq.log("error", "heard");
    return text("logged");
  });
  tool("wait", ({ mcpReq }) => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    mcpReq.signal.addEventListener("abort", () => {
      lines.push("aborted");
      resolve(text("aborted"));
    });
    return promise;
  });
  tool("hang_up", async ({ http }) => {
    http?.closeSSE?.();
    await new Promise((resolve) => setTimeout(resolve, 20));
    return text("after the break");
  });
  tool("who", ({ http }) => text(http?.req?.headers.get("x-from") ?? "nobody"));
  mcp.server.setRequestHandler("resources/subscribe", ({ params }) => {
    lines.push(`subscribed ${params.uri}`);
    return {};
  });
  Object.assign(mcp.server, {
    oninitialized: () => void lines.push("initialized"),
    onclose: () => void lines.push("closed"),
  });
  return mcp;
}

async function startTwo(capabilities = {}) {
  const lines: string[] = [];
  const replicas = createReplicas({
    createServer: ({ session }) => createModernServer(session, lines),
  });
  const [one, two] = [replicas.start(), replicas.start()];
  return { ...replicas, one, two, lines, id: await one.client.initialize(capabilities) };
}

test("sends progress before its answer, and both are resumed elsewhere", async () => {
  const { one, two, id } = await startTwo();
  const call = toolCall(5, "progress");
  Object.assign(call.params, { _meta: { progressToken: "p" } });
  const messages = await readMessages(await one.client.post(id, call));
  expect(messages.map(({ message }) => message.params?.["progress"] ?? message.id)).toEqual([
    1, 2, 3, 5,
  ]);
  const rest = await readMessages(await two.client.get(id, messages[0]!.eventId));
  expect(rest).toEqual(messages.slice(1));
});

test("asks its client, whose answer arrives at another replica", async () => {
  const { one, two, id } = await startTwo({ elicitation: { form: {} } });
  const [stream, copy] = (await one.client.post(id, toolCall(5, "ask"))).body!.tee();
  const [asked] = await takeEvents(new Response(stream), 1);
  expect(asked?.message.method).toBe("elicitation/create");
  const result = { action: "accept", content: { name: "Ada" } };
  expect((await two.client.post(id, { id: asked!.message.id, result })).status).toBe(202);
  const headers = { "content-type": "text/event-stream" };
  const answer = (await readMessages(new Response(copy, { headers }))).at(-1);
  expect(answer?.message.result?.content?.[0]?.text).toBe('{"name":"Ada"}');
});

test("is told the log level and the subscriptions again where it is restored", async () => {
  const { one, two, id, lines } = await startTwo();
  const level = { id: 1, method: "logging/setLevel", params: { level: "warning" } };
  await readMessages(await one.client.post(id, level));
  const subscribe = { id: 2, method: "resources/subscribe", params: { uri: "a://b" } };
  await readMessages(await one.client.post(id, subscribe));
  lines.length = 0;
  const logged = await readMessages(await two.client.post(id, toolCall(3, "log")));
  expect(logged.map(({ message }) => message.params?.["data"] ?? message.id)).toEqual(["heard", 3]);
  expect(lines).toEqual(["initialized", "subscribed a://b"]);
});

test.each(["the same replica", "another replica"])("is cancelled through %s", async (replica) => {
  const { one, two, id, lines } = await startTwo();
  await takeEventId(await one.client.post(id, toolCall(5, "wait")));
  const { client } = replica === "another replica" ? two : one;
  expect((await client.post(id, cancellation(5))).status).toBe(202);
  await expect.poll(() => lines, { interval: 5 }).toContain("aborted");
});

test("ends its answer stream early, and the client comes back for the answer", async () => {
  const { one, two, id } = await startTwo();
  const broken = await one.client.post(id, toolCall(5, "hang_up"));
  const [early, whole] = broken.body!.tee();
  const first = await takeEventId(new Response(early));
  expect(await readMessages(new Response(whole))).toEqual([]);
  const [answer] = await readMessages(await two.client.get(id, first));
  expect(answer?.message.result?.content?.[0]?.text).toBe("after the break");
});

test("reads its client's HTTP request", async () => {
  const { one, id } = await startTwo();
  const response = await one.client.post(id, toolCall(5, "who"), { "x-from": "ada" });
  const [answer] = await readMessages(response);
  expect(answer?.message.result?.content?.[0]?.text).toBe("ada");
});

test("notifies through the listening stream, and is closed with its session", async () => {
  const servers: McpServer[] = [];
  const lines: string[] = [];
  const { client } = createReplicas().start({
    createServer: ({ session }) => {
      servers.push(createModernServer(session, lines));
      return servers.at(-1)!;
    },
  });
  const id = await client.initialize();
  const listening = await whenListening(await client.get(id));
  servers[0]!.sendToolListChanged();
  const [changed] = await takeEvents(listening, 1);
  expect(changed?.message.method).toBe("notifications/tools/list_changed");
  await client.end(id);
  expect(lines.at(-1)).toBe("closed");
  expect(await client.call(id, "list")).toMatchObject({ status: 404 });
});
