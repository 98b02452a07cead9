import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import { McpServer as McpServerV1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import { McpServer as McpServerV2 } from "@modelcontextprotocol/server";
import { describe, expect, test } from "vitest";
import { createRawClient, takeEventId, toolCall } from "../../test/raw-client.ts";
import {
  type ConnectableServer,
  createSessionHandler,
  type ServerSession,
  type ServerSessionEvent,
} from "../index.ts";

interface Numbers {
  n: number;
  parts: Record<string, unknown>;
}

type Tool = (session: ServerSession<Numbers>, notify: () => Promise<void>) => unknown;

class Own {
  readonly value = 1;
}

const cycle: Record<string, unknown> = {};
cycle["self"] = cycle;

/** Values that no state can have, each at the path `parts.x`. */
const values: Record<string, unknown> = {
  "a BigInt": 10n,
  "a cycle": cycle,
  "a Map": new Map([["a", 1]]),
  "a Set": new Set([1]),
  "a Date": new Date(0),
  "an instance": new Own(),
};

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const tools: Record<string, Tool> = {
  read: ({ state }) => JSON.stringify(state),
  increment: async ({ state }) => {
    await pause(1);
    state.n++;
  },
  increment_with_update: (session) => session.update((state) => void state.n++),
};
for (const [name, value] of Object.entries(values)) {
  tools[name] = ({ state }) => {
    state.n = 99;
    state.parts["x"] = value;
  };
  tools[`${name} after progress`] = async ({ state }, notify) => {
    await notify();
    await pause(20);
    state.n = 99;
    state.parts["x"] = value;
  };
}
for (let n = 0; n < 10; n += 1) {
  tools[`part ${n}`] = async ({ state }) => {
    await pause(5);
    state.parts[`p${n}`] = n;
  };
}

interface Extra {
  sendNotification?: (notification: object) => Promise<void>;
  mcpReq?: { notify: (notification: object) => Promise<void> };
}

/** The same tools on a server of either SDK. */
function createToolServer(
  McpServer: typeof McpServerV1 | typeof McpServerV2,
  session: ServerSession<Numbers>,
): ConnectableServer {
  const mcp = new McpServer({ name: "tools", version: "1" }, { capabilities: { logging: {} } });
  const register = mcp.registerTool.bind(mcp) as (
    name: string,
    config: object,
    run: (extra: Extra) => unknown,
  ) => void;
  for (const [name, tool] of Object.entries(tools)) {
    register(name.replaceAll(" ", "_"), {}, async (extra) => {
      const notify = extra.mcpReq?.notify ?? extra.sendNotification!;
      const params = { level: "info", data: "half way" };
      const result = await tool(session, () => notify({ method: "notifications/message", params }));
      return { content: [{ type: "text", text: String(result) }] };
    });
  }
  return mcp;
}

const sdks = { "SDK 1": McpServerV1, "SDK 2": McpServerV2 };

function createToolReplicas(
  McpServer: typeof McpServerV1 | typeof McpServerV2,
  responseFormat: "sse" | "json",
) {
  const store = createMemoryStore();
  const events: ServerSessionEvent[] = [];
  const start = () => {
    const handler = createSessionHandler<Numbers>({
      store,
      responseFormat,
      principal: "none",
      initialState: () => ({ n: 0, parts: {} }),
      createServer: ({ session }) => createToolServer(McpServer, session),
      onEvent: (event) => void events.push(event),
      timeouts: { leaseMs: 60, pollIntervalMs: 10 },
      limits: { requestsPerSession: 1_000 },
    });
    const { call, ...client } = createRawClient(handler);
    return { ...client, call: (id: string, name: string) => call(id, name.replaceAll(" ", "_")) };
  };
  return { start, store, events };
}

async function leaseOf(store: SessionStore): Promise<unknown> {
  const { records } = await store.list({ limit: 100 });
  return records.find(({ key }) => key.includes('"replica"'))?.value;
}

const combinations = Object.entries(sdks).flatMap(([sdk, McpServer]) =>
  (["sse", "json"] as const).map((format) => [sdk, format, McpServer] as const),
);

describe.each(combinations)("a server of %s whose answers are %s", (_, format, McpServer) => {
  test.each(Object.keys(values).flatMap((name) => [name, `${name} after progress`]))(
    "fails one call alone that leaves %s in the state",
    async (name) => {
      const { start, store, events } = createToolReplicas(McpServer, format);
      const [one, two] = [start(), start()];
      const id = await one.initialize();
      const { error } = await one.call(id, name);
      expect(error?.data?.code).toBe("STATE_INVALID");
      expect(error?.message).toContain("state.parts.x");
      expect(events.filter(({ type }) => type === "state-invalid")).toHaveLength(1);
      expect(events.filter(({ type }) => type === "failed")).toEqual([]);
      for (const [n, client] of [one, two].entries()) {
        expect((await client.call(id, "read")).text).toBe(`{"n":${n},"parts":{}}`);
        expect((await client.call(id, "increment_with_update")).error).toBeUndefined();
        expect((await one.call(id, name)).error?.data?.code).toBe("STATE_INVALID");
      }
      // Nothing holds the lease of the process: it is not renewed, and runs out.
      await expect.poll(() => leaseOf(store), { timeout: 1_000 }).toBeUndefined();
    },
  );

  test.each([1, 2])(
    "of parallel n++ on %i replicas only those fail that conflict",
    async (count) => {
      const { start } = createToolReplicas(McpServer, format);
      const clients = Array.from({ length: count }, start);
      const id = await clients[0]!.initialize();
      const calls = Array.from({ length: 20 }, (_each, n) =>
        clients[n % count]!.call(id, "increment"),
      );
      const answers = await Promise.all(calls);
      const codes = answers.map(({ error, text }) => error?.data?.code ?? text);
      const done = codes.filter((code) => code === "undefined").length;
      expect(done).toBeGreaterThan(0);
      expect(codes.filter((code) => code === "STATE_CONFLICT")).toHaveLength(20 - done);
      expect((await clients[0]!.call(id, "read")).text).toBe(`{"n":${done},"parts":{}}`);
    },
  );

  test("update on two replicas loses none of 200", async () => {
    const { start } = createToolReplicas(McpServer, format);
    const clients = [start(), start()];
    const id = await clients[0]!.initialize();
    const calls = Array.from({ length: 200 }, (_each, n) =>
      clients[n % 2]!.call(id, "increment_with_update"),
    );
    expect(new Set((await Promise.all(calls)).map(({ text }) => text))).toEqual(
      new Set(["undefined"]),
    );
    expect((await clients[1]!.call(id, "read")).text).toBe('{"n":200,"parts":{}}');
  });

  test("writes to different paths are all kept", async () => {
    const { start } = createToolReplicas(McpServer, format);
    const clients = [start(), start()];
    const id = await clients[0]!.initialize();
    const calls = Array.from({ length: 10 }, (_each, n) => clients[n % 2]!.call(id, `part ${n}`));
    expect((await Promise.all(calls)).map(({ error }) => error)).toEqual(Array(10).fill(undefined));
    const { parts } = JSON.parse((await clients[0]!.call(id, "read")).text!) as Numbers;
    expect(new Set(Object.values(parts))).toEqual(new Set(Array(10).keys()));
  });
});

test("a client that comes back to such a call gets its error", async () => {
  const { start } = createToolReplicas(McpServerV1, "sse");
  const [one, two] = [start(), start()];
  const id = await one.initialize();
  const first = await takeEventId(await one.post(id, toolCall(7, "a_BigInt_after_progress")));
  const text = await (await two.get(id, first)).text();
  expect(text).toContain("STATE_INVALID");
});
