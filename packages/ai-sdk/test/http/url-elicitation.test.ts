import { setTimeout } from "node:timers/promises";
import { createMemoryStore } from "@durable-mcp/core";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { UrlElicitationRequiredError } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, test } from "vitest";
import { collectEvents } from "../collect-events.ts";
import {
  answer,
  type NotebookServerOptions,
  startNotebookServer,
} from "../../../sessions/test/notebook-server.ts";
import { alice } from "../step.ts";
import {
  createDurableSessions,
  defineMcpClientConnection,
  type McpClientConnectionOptions,
} from "../../src/index.ts";

const page = "https://files.example/connect?flow=1";
const elicitation = { mode: "url", elicitationId: "e-1", url: page, message: "Connect." } as const;

type Options = Partial<McpClientConnectionOptions>;

/** A server whose tool `read` sends a person to a URL, on SDK v1. `visits` says how often the person was there. */
async function start(own: Options, server: NotebookServerOptions = {}, url: string = page) {
  const person = { visits: 0, wanted: 1 };
  const runs: unknown[] = [];
  const setUp = (mcp: McpServer) =>
    void mcp.registerTool("read", {}, () => {
      if (person.visits < person.wanted)
        throw new UrlElicitationRequiredError([{ ...elicitation, url }]);
      runs.push("read");
      return answer("the file");
    });
  const { requests, ...notebook } = await startNotebookServer({ ...server, setUp });
  const { onEvent, events } = collectEvents();
  const files = defineMcpClientConnection({ url: notebook.url, description: "Files.", ...own });
  const sessions = createDurableSessions({
    ...{ connections: { files }, store: createMemoryStore(), onEvent },
  });
  const run = async () =>
    await sessions.run("chat", { principal: alice }, (step) => step.call("files", "read"));
  const calls = () =>
    requests
      .filter(({ message }) => message?.method === "tools/call")
      .map(({ message }) => message.params);
  const waiting = () => sessions.waiting("chat", { principal: alice });
  const reply = async (action: "accept" | "decline") => {
    const [call] = await waiting();
    return await sessions.answer("chat", call!.id!, { "e-1": { action } }, { principal: alice });
  };
  return { person, runs, sessions, run, calls, waiting, reply, events, notebook };
}

const servers: [string, Options, NotebookServerOptions][] = [
  ["stateful", { session: "stateful" }, {}],
  ["stateful, no session", { session: "stateful" }, { isSessionless: true }],
  ["default", {}, { isSessionless: true }],
];

describe.each(servers)("a server that wants a person at a URL first (%s)", (_, own, options) => {
  test("has its call wait for that, and gets it once more", async () => {
    const { person, run, waiting, reply, calls, runs } = await start(
      { ...own, waiting: true },
      options,
    );
    await run();
    const params = expect.objectContaining({ mode: "url", url: page, message: "Connect." });
    const requests = { "e-1": { method: "elicitation/create", params } };
    expect(await waiting()).toMatchObject([{ type: "question", round: 1, requests }]);
    // The person says yes, and has not been there: the server asks again.
    await reply("accept");
    expect(await waiting()).toMatchObject([{ round: 2 }]);
    person.visits = 1;
    expect(await reply("accept")).toMatchObject({ state: "settled" });
    expect(calls()).toEqual([calls()[0], calls()[0], calls()[0]]);
    expect(runs).toEqual(["read"]);
  });

  test("is sent nothing more when the person declines", async () => {
    const { run, reply, calls } = await start({ ...own, waiting: true }, options);
    await run();
    expect(await reply("decline")).toMatchObject({ state: "settled" });
    expect(calls()).toHaveLength(1);
  });

  test("gets the call once more after onElicitation", async () => {
    const asked: unknown[] = [];
    const { person, run, calls } = await start(
      {
        ...own,
        // The person takes longer than the call may.
        timeouts: { callMs: 1_000 },
        async onElicitation({ params }) {
          asked.push(params);
          await setTimeout(1_200);
          person.visits += 1;
          return { action: "accept" };
        },
      },
      options,
    );
    expect(await run()).toMatchObject(answer("the file"));
    expect(asked).toMatchObject([{ mode: "url", url: page }]);
    expect(calls()).toHaveLength(2);
    // It is asked once for each call.
    person.wanted = 9;
    await expect(run()).rejects.toMatchObject({ code: -32_042 });
    expect(calls()).toHaveLength(4);
  });

  test("gets nothing more after onElicitation declines", async () => {
    const { run, calls } = await start(
      { ...own, onElicitation: () => ({ action: "decline" }) },
      options,
    );
    await expect(run()).rejects.toMatchObject({ code: -32_042 });
    expect(calls()).toHaveLength(1);
  });
});

test("a URL with another host as its user name is nobody's question", async () => {
  const url = "https://bank.example@evil.example/";
  const { run, waiting } = await start({ waiting: true }, { isSessionless: true }, url);
  await expect(run()).rejects.toMatchObject({ code: -32_042 });
  expect(await waiting()).toEqual([]);
});

test("without a person to wait for, the refusal is the call's answer", async () => {
  const { run, waiting } = await start({ session: "stateful", waiting: { for: ["stream"] } });
  await expect(run()).rejects.toMatchObject({ code: -32_042 });
  expect(await waiting()).toEqual([]);
});

test("a call on a session that is gone is not made on another", async () => {
  const { run, reply, calls, notebook } = await start({ session: "stateful", waiting: true });
  await run();
  notebook.forgetSessions();
  expect(await reply("accept")).toMatchObject({ state: "expired" });
  expect(calls()).toHaveLength(2);
});
