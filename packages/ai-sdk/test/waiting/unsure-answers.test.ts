/** A person's answer that may be lost on its way to a server that keeps the call. */

import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { createMemoryStore } from "@durable-mcp/core";
import type { InputResponses, WaitingCall } from "@durable-mcp/core/waiting";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { ElicitResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, test, vi } from "vitest";
import { closeServersAfterAll, startHttpServer } from "../../../core/test/http-server.ts";
import { type AnswerFault, failAnswers } from "../../../sessions/test/answer-faults.ts";
import { answer, type Interceptor } from "../../../sessions/test/notebook-server.ts";
import { asked, calls, resultsOf, startLab, use } from "../slow-lab.ts";
import { slowKinds } from "../../../sessions/test/slow-server.ts";
import { createEventStore } from "../../../sessions/test/slow-sessions.ts";
import { question } from "../../../sessions/test/slow-work.ts";
import { majors } from "../waiting-tool.ts";
import { createDurableSessions, defineMcpClientConnection } from "../../src/index.ts";
import type { DueCalls } from "../../../sessions/src/management/due-calls.ts";

const { ai } = majors[0]!;

function yesTo({ requests }: WaitingCall): InputResponses {
  const yes = { action: "accept", content: { year: "1773" } } as const;
  return Object.fromEntries(Object.keys(requests).map((key) => [key, yes]));
}

/** The time when nobody waits any more for a process that sent an answer. */
const afterwards = () => Date.now() + 61_000;

/** What a cron job does. */
async function checkDue(admin: DueCalls) {
  const looked = [];
  for await (const { reference } of admin.due()) looked.push(await admin.check(reference));
  return looked;
}

/** A call whose server asks a person for a year. */
async function startAsking(kind: (typeof slowKinds)[number]) {
  const lab = await startLab(kind, { waiting: { afterMs: 1_500 } });
  const { slow, step, list, events, newSessions } = lab;
  void slow.begun().then(slow.ask);
  const { messages } = await step(ai, [asked], calls);
  const [call] = await list();
  expect(call).toMatchObject({ type: "question", round: 1 });
  const deliveries = () =>
    events.flatMap((event) => (event.type === "answer-unsure" ? [event.delivery] : []));
  return {
    ...{ ...lab, call: call!, deliveries },
    /** A process after the other looks, until the server is done. */
    end: async (now = Date.now) => {
      const other = newSessions(now);
      for (let looks = 0; looks < 8; looks += 1) {
        if (slow.works[0]!.year !== undefined) slow.finish();
        const [left] = (await other.waiting("chat", use)) as WaitingCall[];
        if (left === undefined) break;
        expect(left.type).not.toBe("question");
        await setTimeout(Math.max(0, left.pollAfter! - now() + 20));
        await other.check("chat", use);
      }
      return resultsOf((await step(ai, messages, "In that year.")).messages);
    },
  };
}

const faults: [AnswerFault, "before" | "after", number, string[]][] = [
  [503, "before", 1, ["unsure", "delivered"]],
  ["reset", "before", 2, ["unsure", "unsure", "delivered"]],
  [504, "after", 1, ["unsure"]],
];

// They wait, for most of their time.
closeServersAfterAll();
describe.concurrent.each(slowKinds)("an answer to a question of a %s", (kind) => {
  test.each(faults)(
    "that meets %s %s the server has it, %i times, is not lost, and the question never comes back",
    async (fault, when, times, told) => {
      const { slow, call, newSessions, deliveries, end } = await startAsking(kind);
      const sent = failAnswers(slow, { fault, when, times });
      const answered = await newSessions().answer("chat", call.id, yesTo(call), use);
      expect(["task", "stream"]).toContain(answered.type);
      expect(await end()).toContain("All about tea in 1773.");
      expect(deliveries()).toEqual(told);
      expect(new Set(sent).size).toBe(1);
      // The server has shown that it has it before anything is sent twice.
      expect(sent).toHaveLength(when === "after" ? 1 : times + 1);
      expect(slow.works).toHaveLength(1);
    },
  );

  test.each(["before", "after"] as const)(
    "whose process is gone %s the server has it comes from another process",
    async (when) => {
      const { slow, call, newSessions, end } = await startAsking(kind);
      const sent = failAnswers(slow, { fault: "frozen", when, times: 1 });
      const gone = new AbortController();
      const options = { ...use, abortSignal: gone.signal };
      const answering = newSessions().answer("chat", call.id, yesTo(call), options);
      await vi.waitFor(() => expect(sent).toHaveLength(1));
      expect(await checkDue(newSessions().admin)).toEqual([]);
      const looked = await checkDue(newSessions(afterwards).admin);
      expect(looked).toMatchObject([{ call: { id: call.id, requests: {} } }]);
      expect(await end(afterwards)).toContain("All about tea in 1773.");
      expect(sent).toHaveLength(when === "after" ? 1 : 2);
      gone.abort();
      await answering.catch(() => undefined);
      expect(await newSessions().waiting("chat", use)).toEqual([]);
    },
  );
});

const letPass: Interceptor = () => "next";

/** A server of which a call asks twice at once, on one stream. */
async function startTwoQuestions(pauseMs: number) {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const open = async () => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: createEventStore(),
      onsessioninitialized: (id) => void transports.set(id, transport),
    });
    const mcp = new McpServer({ name: "two", version: "1.0.0" });
    mcp.registerTool("ask", { description: "Asks." }, async ({ sendRequest }) => {
      const ask = async (message: string) => {
        const params = { message, requestedSchema: question.requestedSchema };
        const request = { method: "elicitation/create", params } as const;
        return (await sendRequest(request, ElicitResultSchema)).content?.["year"];
      };
      const from = ask("From?");
      await setTimeout(pauseMs);
      return answer((await Promise.all([from, ask("To?")])).join(" to "));
    });
    await mcp.connect(transport);
    return transport;
  };
  let interceptor = letPass;
  const server = await startHttpServer(async (request, response) => {
    if ((await interceptor(request, response)) !== "next") return;
    const id = request.headers["mcp-session-id"]?.toString() ?? "";
    const transport = transports.get(id) ?? (await open());
    await transport.handleRequest(request.raw, response, request.message);
  });
  const intercept = (next: Interceptor) => void (interceptor = next);
  return { url: `${server.origin}/mcp`, intercept };
}

test.concurrent.each([
  ["in one event after another", 1, 0],
  ["a moment later", 1, 50],
  ["a moment later", 3, 50],
])(
  "of two questions that come %s the first %i answers are lost, and each question gets its own",
  async (_, times, pauseMs) => {
    const server = await startTwoQuestions(pauseMs);
    const store = createMemoryStore();
    const lab = defineMcpClientConnection({
      ...{ url: server.url, description: "A lab.", session: "stateful", waiting: true },
    });
    const open = () =>
      createDurableSessions({ connections: { lab }, store, onEvent: () => undefined });
    await open().run("chat", use, (run) => run.call("lab", "ask"));
    const sent = failAnswers(server, { fault: 502, when: "before", times });
    const shown: string[] = [];
    let id = "";
    for (let looks = 0; looks < 8; looks += 1) {
      const [call] = (await open().waiting("chat", use)) as WaitingCall[];
      if (call === undefined) break;
      ({ id } = call);
      const { requests } = call;
      shown.push(...Object.keys(requests));
      const responses = Object.entries(requests).map(([key, asks]) => {
        const year = JSON.stringify(asks).includes("From?") ? "1773" : "1783";
        return [key, { action: "accept", content: { year } }] as const;
      });
      if (call.type === "question") {
        await open().answer("chat", id, Object.fromEntries(responses), use);
      } else {
        await setTimeout(Math.max(0, call.pollAfter! - Date.now() + 20));
        await open().check("chat", use);
      }
    }
    const { result } = (await open().run("chat", use, (run) => run.waiting.find(id))) ?? {};
    expect(result).toEqual(answer("1773 to 1783"));
    expect(shown).toEqual(["0", "1"]);
    expect(new Set(sent).size).toBe(2);
  },
);
