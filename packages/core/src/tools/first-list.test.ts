import { describe, expect, test } from "vitest";
import {
  initializeResult,
  type McpHandler,
  sendJson,
  sendResult,
  startMcpServer,
  toolDefinition,
} from "../../test/mcp-server.ts";
import { sessionSnapshot, startLostStep, startStep } from "../../test/step.ts";
import type { ActiveSessionSnapshot } from "../session/session-snapshot.ts";

const tools = [toolDefinition("echo")];
const handshake = ["POST initialize", "POST notifications/initialized"];

/** A new step that lists before the save. `saved` has what it saved. */
async function startNew(handler?: McpHandler, options: Parameters<typeof startStep>[1] = {}) {
  const server = await startMcpServer(handler);
  const saved: ActiveSessionSnapshot[] = [];
  const step = startStep(server, {
    toolList: { beforeSave: true },
    onSession: (snapshot) => void saved.push(snapshot),
    ...options,
  });
  return { server, saved, ...step };
}

const listedBy = async ({ client }: Pick<ReturnType<typeof startStep>, "client">) =>
  (await client.request("tools/list")).result;

describe("a list before the save", () => {
  test("is saved with the session, and answers the client's", async () => {
    const step = await startNew();
    await step.client.handshake();
    expect(step.saved).toEqual([step.slot.snapshot]);
    expect(step.saved[0]?.toolList).toMatchObject({ tools });
    expect(await listedBy(step)).toEqual({ tools });
    expect(step.server.log).toEqual([...handshake, "POST tools/list"]);
  });

  test("has all pages", async () => {
    const step = await startNew(({ message }, response, next) => {
      if (message?.method !== "tools/list") return next();
      const { cursor } = message.params ?? {};
      const page = { tools: [toolDefinition(cursor ?? "first")] };
      sendResult(response, message.id, cursor ? page : { ...page, nextCursor: "last" });
    });
    await step.client.handshake();
    const both = ["first", "last"].map(toolDefinition);
    expect(step.saved[0]?.toolList?.tools).toEqual(both);
    expect(await listedBy(step)).toEqual({ tools: both });
    expect(step.server.log).toHaveLength(4);
  });

  test("that the server refuses is left to the client", async () => {
    const step = await startNew(({ message }, response, next) => {
      if (message?.method !== "tools/list" || step.server.log.length > 3) return next();
      sendJson(response, 500, {});
    });
    await step.client.handshake();
    expect(step.saved).toHaveLength(1);
    expect(step.saved[0]).not.toHaveProperty("toolList");
    expect(await listedBy(step)).toEqual({ tools });
    expect(step.slot.snapshot).toHaveProperty("toolList");
  });

  test("on a session that is lost at once is left to the client, which recovers it", async () => {
    const step = await startNew(({ message }, _, next) => {
      if (message?.method === "tools/list" && step.server.log.length === 3) {
        step.server.forgetSessions();
      }
      next();
    });
    await step.client.handshake();
    expect(await listedBy(step)).toEqual({ tools });
    expect(step.events.map(({ type }) => type)).toEqual(["started", "lost", "recovered"]);
  });

  test.each([
    ["too long to save", { toolList: { beforeSave: true, maxLength: 10 } }],
    ["too large for a record", {}],
  ])("that is %s still answers the client", async (_, options) => {
    const large = [{ ...toolDefinition("echo"), description: "x".repeat(1_000_000) }];
    const step = await startNew(({ message }, response, next) => {
      if (message?.method !== "tools/list") return next();
      sendResult(response, message.id, { tools: large });
    }, options);
    await step.client.handshake();
    expect(step.saved[0]).not.toHaveProperty("toolList");
    expect(await listedBy(step)).toEqual({ tools: large });
    expect(step.server.log).toHaveLength(3);
  });

  test.each([[null], ["tools"], [{}]])("that is none (%j) is not kept", async (none) => {
    const step = await startNew(({ message }, response, next) => {
      if (message?.method !== "tools/list") return next();
      sendResult(response, message.id, { tools: none });
    });
    await step.client.handshake();
    expect(step.saved[0]).not.toHaveProperty("toolList");
    expect(await listedBy(step)).toEqual({ tools: none });
  });

  test("is not asked of a server without tools", async () => {
    const step = await startNew(({ message }, response) => {
      const result = { ...initializeResult, capabilities: {} };
      const headers = { "mcp-session-id": "secret-session" };
      if (message?.id === undefined) response.writeHead(202).end();
      else sendResult(response, message.id, result, headers);
    });
    await step.client.handshake();
    expect(step.saved).toHaveLength(1);
    expect(step.server.log).toEqual(handshake);
  });

  test("comes after onStart, whose own list is taken", async () => {
    const step = await startNew(undefined, {
      onStart: async ({ fetch }) => {
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
        const headers = { accept: "application/json", "content-type": "application/json" };
        await (await fetch(step.server.url, { method: "POST", headers, body })).text();
      },
    });
    await step.client.handshake();
    expect(step.saved[0]?.toolList).toMatchObject({ tools });
    expect(await listedBy(step)).toEqual({ tools });
    expect(step.server.log).toEqual([...handshake, "POST tools/list"]);
  });

  test("is not that of the session which another process saved before", async () => {
    const winner = sessionSnapshot("http://unused");
    const step = await startNew(undefined, {
      onSession: ({ url }) => ({
        ...winner,
        url,
        toolList: { tools: [toolDefinition("theirs")], listedAt: Date.now() },
      }),
    });
    await step.client.handshake();
    expect(await listedBy(step)).toEqual({ tools: [toolDefinition("theirs")] });
  });

  test("is in the one save of a recovery, too, if the lost session had a list", async () => {
    const saves: ActiveSessionSnapshot[] = [];
    const options = {
      toolList: { beforeSave: true },
      onSession: (snapshot: ActiveSessionSnapshot) => void saves.push(snapshot),
    };
    const step = await startLostStep(options);
    await step.client.request("tools/call");
    expect(saves).toHaveLength(1);
    expect(saves[0]).not.toHaveProperty("toolList");
    expect(step.server.log).not.toContain("POST tools/list");

    const listing = await startNew();
    await listing.client.handshake();
    listing.server.forgetSessions();
    await listing.client.request("tools/call");
    expect(listing.saved).toHaveLength(2);
    expect(listing.saved[1]?.toolList).toMatchObject({ tools });
    expect(listing.server.log.filter((line) => line.includes("list"))).toHaveLength(2);
  });
});
