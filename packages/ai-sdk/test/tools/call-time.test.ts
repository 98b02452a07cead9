/** A call ends after a time, whatever the server sends meanwhile. */
import { defineMcpClientConnection } from "../../src/index.ts";
import { expect, test, vi } from "vitest";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { alice, callTool, startApplication } from "../step.ts";
import { callTimeoutMs } from "../../../sessions/src/declare/define-connection.ts";
import { defineMcpStdioConnection } from "../../src/stdio.ts";

const http = { url: "http://127.0.0.1:1/mcp", description: "A notebook." };
const stdio = { command: "notebook", description: "A notebook." };

test.each<[string, (timeouts?: object) => Parameters<typeof callTimeoutMs>[0]]>([
  ["HTTP", (timeouts) => defineMcpClientConnection({ ...http, timeouts })],
  ["stdio", (timeouts) => defineMcpStdioConnection({ ...stdio, timeouts })],
])("over %s a call has 5 minutes, another time, or no limit", (_, define) => {
  expect(callTimeoutMs(define())).toBe(300_000);
  expect(callTimeoutMs(define({}))).toBe(300_000);
  expect(callTimeoutMs(define({ callMs: 1_000 }))).toBe(1_000);
  expect(callTimeoutMs(define({ callMs: false }))).toBeUndefined();
});

/** A tool that reports its progress every few milliseconds, and never ends by itself. */
async function startBusy(timeouts?: { callMs?: number | false }) {
  let isAborted = false;
  const server = await startNotebookServer({
    setUp(mcp) {
      mcp.registerTool("work", {}, async ({ signal, sendNotification, requestId }) => {
        signal.addEventListener("abort", () => (isAborted = true));
        for (let progress = 0; !signal.aborted; progress += 1) {
          const params = { progressToken: requestId, progress };
          await sendNotification({ method: "notifications/progress", params });
          await new Promise((resolve) => {
            setTimeout(resolve, 10);
          });
        }
        return { content: [] };
      });
    },
  });
  const definition = {
    url: server.url,
    description: "Work.",
    session: "stateful",
    timeouts,
  } as const;
  const { provider } = startApplication({ work: defineMcpClientConnection(definition) });
  const registry = provider.create({ principal: alice });
  return { server, registry, isAborted: () => isAborted };
}

test("a heartbeat keeps no call alive: it is cancelled, and its outcome is unknown", async () => {
  const { server, registry, isAborted } = await startBusy({ callMs: 300 });
  await expect(callTool(await registry.tools(), "work__work")).rejects.toMatchObject({
    code: "OUTCOME_UNKNOWN",
    message: expect.stringContaining("within 300 ms"),
    data: { connection: "work" },
  });
  await vi.waitFor(() => expect(isAborted()).toBe(true));
  expect(server.log).toContain("POST notifications/cancelled");
  await registry.dispose();
});

test("a call that is not limited goes on, and a single one can be given a time of its own", async () => {
  const { registry, isAborted } = await startBusy({ callMs: false });
  const long = callTool(await registry.tools(), "work__work");
  long.catch(() => undefined);
  await expect(registry.call("work", "work", {}, { timeoutMs: 300 })).rejects.toMatchObject({
    code: "OUTCOME_UNKNOWN",
  });
  await vi.waitFor(() => expect(isAborted()).toBe(true));
  await registry.dispose();
});

function timers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
}

test("a call leaves no timer behind", async () => {
  const server = await startNotebookServer();
  const notes = defineMcpClientConnection({ url: server.url, description: "A notebook." });
  const { provider } = startApplication({ notes });
  const registry = provider.create({});
  await registry.call("notes", "list_notes");
  const before = timers();
  for (let count = 0; count < 20; count += 1) await registry.call("notes", "list_notes");
  expect(timers() - before).toBeLessThan(10);
  await registry.dispose();
});
