import { expect, test } from "vitest";
import { eventText, startEvents, startMcpServer } from "../../test/mcp-server.ts";
import { saveSession, startStep } from "../../test/step.ts";

const notification = (method: string, params?: object) => ({ jsonrpc: "2.0", method, params });

test("notifications on an answer's stream are events, scrubbed, with the client's token", async () => {
  const server = await startMcpServer();
  const snapshot = await saveSession(server);
  const { client, events } = startStep(server, { snapshot });
  server.use(({ message }, response) => {
    startEvents(response);
    const { progressToken } = message.params["_meta"];
    response.write(
      eventText(notification("notifications/progress", { progressToken, progress: 1 })),
    );
    response.write(eventText(notification("notifications/resources/updated", { uri: "a:b" })));
    response.write(
      eventText(
        notification("notifications/message", {
          data: { [snapshot.sessionId]: [`of ${snapshot.sessionId}`] },
        }),
      ),
    );
    response.write(eventText(notification(`of/${snapshot.sessionId}`)));
    response.end(eventText({ jsonrpc: "2.0", id: message.id, result: {} }));
  });
  await client.request("tools/call", { _meta: { progressToken: "own" } });
  expect(events.slice(1)).toEqual([
    {
      type: "notification",
      method: "notifications/progress",
      params: { progressToken: "own", progress: 1 },
    },
    { type: "notification", method: "notifications/resources/updated", params: { uri: "a:b" } },
    {
      type: "notification",
      method: "notifications/message",
      params: { data: { "[session id]": ["of [session id]"] } },
    },
    { type: "notification", method: "of/[session id]", params: undefined },
  ]);
});

test("notifications on the listening stream are events, and what the client answers is none", async () => {
  const server = await startMcpServer();
  const { client, fetch, events } = startStep(server, {
    snapshot: await saveSession(server),
    listening: true,
  });
  server.use(({ method }, response, next) => {
    if (method !== "GET") return next();
    startEvents(response);
    response.write(eventText({ jsonrpc: "2.0", id: 1, method: "ping" }));
    response.write(eventText(notification("notifications/tools/list_changed")));
  });
  const controller = new AbortController();
  const stream = await fetch(server.url, {
    headers: { accept: "text/event-stream" },
    signal: controller.signal,
  });
  const reader = stream.body!.getReader();
  await reader.read();
  await reader.read();
  await client.post({ jsonrpc: "2.0", id: 1, result: {} });
  const reported = events.filter(({ type }) => type === "notification");
  expect(reported).toEqual([
    { type: "notification", method: "notifications/tools/list_changed", params: undefined },
  ]);
  controller.abort();
});
