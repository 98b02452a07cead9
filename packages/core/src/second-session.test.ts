import { describe, expect, test } from "vitest";
import { eventText, startEvents, startMcpServer } from "../test/mcp-server.ts";
import { saveSession, startStep } from "../test/step.ts";
import type { JsonRpcRequest } from "./wire/json-rpc.ts";
import { createSessionSlot } from "./session/session-slot.ts";

const matches = ({ params }: JsonRpcRequest) => params?.["name"] === "screenshot";

const startWithException = async (options: Parameters<typeof startStep>[1] = {}) => {
  const server = await startMcpServer();
  const aside = createSessionSlot();
  const step = startStep(server, {
    snapshot: await saveSession(server),
    except: { slot: aside, matches },
    ...options,
  });
  const sessionsOf = (name: string) =>
    server.requests.flatMap(({ message, headers }) =>
      message?.params?.name === name ? [headers["mcp-session-id"]] : [],
    );
  return { server, aside, sessionsOf, ...step };
};

describe("a request that matches except", () => {
  test("goes to a second session, made once, which the slot does not save", async () => {
    const { client, server, slot, aside, sessionsOf, events } = await startWithException();
    await client.handshake({ clientInfo: { name: "own", version: "3" } });
    const names = ["work", "screenshot", "screenshot", "work"];
    await Promise.all(names.map((name) => client.request("tools/call", { name })));
    const [main, second] = server.sessionIds;
    expect(sessionsOf("work")).toEqual([main, main]);
    expect(sessionsOf("screenshot")).toEqual([second, second]);
    expect(server.log.filter((entry) => entry === "POST initialize")).toHaveLength(1);
    expect(
      server.requests.find(({ message }) => message.method === "initialize")?.message.params,
    ).toMatchObject({ clientInfo: { name: "own", version: "3" } });
    expect(slot.changed).toBe(false);
    expect(aside.snapshot).toMatchObject({ sessionId: second });
    expect(events.map(({ type }) => type)).toEqual(["resumed"]);
  });

  test("has its server's questions answered, and is cancelled, on that session", async () => {
    const { client, server } = await startWithException();
    const ask = { jsonrpc: "2.0", id: 0, method: "elicitation/create", params: {} };
    server.use(({ message }, response, next) => {
      if (message?.method !== "tools/call") return next();
      startEvents(response);
      response.write(eventText(ask));
    });
    const opened = await Promise.all(
      ["work", "screenshot"].map((name, id) =>
        client.post({ jsonrpc: "2.0", id, method: "tools/call", params: { name } }),
      ),
    );
    const questions = await Promise.all(
      opened.map(async ({ body }) => {
        const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
        let text = "";
        while (!text.endsWith("\n\n")) text += (await reader.read()).value ?? "";
        return JSON.parse(text.replace("data: ", "")) as { id: unknown };
      }),
    );
    expect(questions[0]?.id).not.toBe(questions[1]?.id);
    for (const [index, { id }] of questions.entries()) {
      await client.post({ jsonrpc: "2.0", id, result: { answer: index } });
    }
    await client.post({
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId: 1 },
    });
    const [main, second] = server.sessionIds;
    const sent = server.requests.map(({ headers, message }) => [
      headers["mcp-session-id"],
      message?.result?.answer ?? message?.method,
      message?.id,
    ]);
    expect(sent).toContainEqual([main, 0, 0]);
    expect(sent).toContainEqual([second, 1, 0]);
    expect(sent.at(-1)).toEqual([second, "notifications/cancelled", undefined]);
  });

  test("runs onStart for its session, and reports when that one is lost", async () => {
    const reasons: string[] = [];
    const { client, server, events } = await startWithException({
      onStart: ({ reason }) => void reasons.push(reason),
    });
    await client.request("tools/call", { name: "screenshot" });
    server.forgetSessions();
    await client.request("tools/call", { name: "screenshot" });
    expect(reasons).toEqual(["started", "recovered"]);
    expect(events.map(({ type }) => type)).toEqual(["lost", "recovered"]);
  });
});
