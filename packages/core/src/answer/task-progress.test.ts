import { describe, expect, test } from "vitest";
import { eventText, sendResult, startEvents, startMcpServer } from "../../test/mcp-server.ts";
import { readMessages } from "../../test/rpc-client.ts";
import { saveSession, startStep } from "../../test/step.ts";

const progress = (progressToken: unknown) => ({
  jsonrpc: "2.0",
  method: "notifications/progress",
  params: { progressToken, progress: 1 },
});
const status = (taskId: string, value: string) => ({
  jsonrpc: "2.0",
  method: "notifications/tasks/status",
  params: { taskId, status: value },
});

/**
 * A step that made a task with the progress token "own", and a server that sends progress of it before
 * each answer to `tasks/get` and `tasks/result`, and on its listening stream.
 */
async function startTaskStep() {
  const server = await startMcpServer();
  const step = startStep(server, {
    snapshot: await saveSession(server),
    listening: true,
  });
  let token: unknown;
  let taskStatus = "working";
  let listening: ((message: object) => void) | undefined;
  server.use(({ method, message }, response, next) => {
    if (method === "GET") {
      startEvents(response);
      listening = (sent) => response.write(eventText(sent));
      return;
    }
    if (message?.method === "tools/call") {
      token = message.params["_meta"].progressToken;
      const padding = "x".repeat(message.params.padding ?? 0);
      return sendResult(response, message.id, {
        task: { taskId: "t-1", status: taskStatus },
        padding,
      });
    }
    if (message?.method?.startsWith("tasks/") !== true) return next();
    startEvents(response);
    response.write(eventText(progress(token)));
    const isGet = message.method !== "tasks/result";
    const result = isGet ? { taskId: "t-1", status: taskStatus } : { content: [] };
    response.end(eventText({ jsonrpc: "2.0", id: message.id, result }));
  });
  const call = async (padding = 0) => {
    const params = { name: "slow", task: { ttl: 1 }, padding, _meta: { progressToken: "own" } };
    return await step.client.request("tools/call", params);
  };
  /** The tokens of the progress that comes with the answer to a request about the task. */
  const tokensOf = async (method: string) => {
    const message = { jsonrpc: "2.0", id: 9, method, params: { taskId: "t-1" } };
    const messages = await readMessages(await step.client.post(message));
    return messages.flatMap(({ params }) => params?.progressToken ?? []).map(nameOf);
  };
  const nameOf = (seen: unknown) => (seen === token ? "ours" : seen);
  return {
    ...step,
    server,
    call,
    tokensOf,
    setStatus: (value: string) => (taskStatus = value),
    send: (message: object) => listening?.(message),
    sendProgress: () => listening?.(progress(token)),
  };
}

describe("progress of a task", () => {
  test.each([0, 20_000])(
    "comes under the client's token after the CreateTaskResult, %i",
    async (padding) => {
      const { call, tokensOf } = await startTaskStep();
      expect(await call(padding)).toMatchObject({ id: 0, result: { task: { taskId: "t-1" } } });
      expect(await tokensOf("tasks/get")).toEqual(["own"]);
      expect(await tokensOf("tasks/get")).toEqual(["own"]);
      expect(await tokensOf("tasks/result")).toEqual(["own"]);
      // The task is over.
      expect(await tokensOf("tasks/get")).toEqual(["ours"]);
    },
  );

  test.each(["tasks/get", "tasks/cancel"])("ends with a terminal status in %s", async (method) => {
    const { call, tokensOf, setStatus } = await startTaskStep();
    await call();
    setStatus("cancelled");
    expect(await tokensOf(method)).toEqual(["own"]);
    expect(await tokensOf("tasks/get")).toEqual(["ours"]);
  });

  test("comes on the listening stream, until a notification ends the task", async () => {
    const { call, fetch, events, send, sendProgress, server } = await startTaskStep();
    const stream = await fetch(server.url, { method: "GET" });
    await call();
    sendProgress();
    send(status("t-1", "working"));
    sendProgress();
    send(status("t-2", "completed"));
    sendProgress();
    send(status("t-1", "failed"));
    sendProgress();
    const tokens = () =>
      events.flatMap((event) =>
        event.type === "notification" && event.params?.["progressToken"] !== undefined
          ? [event.params["progressToken"]]
          : [],
      );
    const reader = stream.body!.getReader();
    void (async () => {
      while (!(await reader.read()).done);
    })();
    await expect.poll(() => tokens().length).toBe(4);
    expect(tokens().slice(0, 3)).toEqual(["own", "own", "own"]);
    expect(tokens()[3]).not.toBe("own");
    await reader.cancel();
  });
});
