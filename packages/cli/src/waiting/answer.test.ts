import { describe, expect, test } from "vitest";
import { confirm } from "../../../sessions/test/asking-server.ts";
import { parkCalls, startLockedShop } from "../../../ai-sdk/test/sign-in-application.ts";
import { about, startLab, use } from "../../../ai-sdk/test/slow-lab.ts";
import { alice } from "../../../ai-sdk/test/step.ts";
import { runCli, runCliJson } from "../../test/run-cli.ts";
import { openFile, startShop } from "../../test/store-of-an-application.ts";

/** A shop with a call that waits, and how a command is run on its store. */
async function startAnswering(...shop: Parameters<typeof startShop>) {
  const started = await startShop(...shop);
  const inStore = ["--store", started.address];
  const { json } = await runCliJson("waiting", "list", ...inStore);
  const row: string = json.calls[0].row;
  const answer = (content: unknown) =>
    runCli(
      ...["waiting", "answer", row, ...inStore, "--server", started.origin],
      ...["--data", JSON.stringify({ confirm: { action: "accept", content } })],
    );
  return { ...started, inStore, row, json, answer };
}

const aQuestion = (params: object) => () => ({ method: "elicitation/create", params });

/** Asks the same each time. */
const asks = ({ params }: { params: { requestState?: string } }) => ({
  result: {
    ...{ resultType: "input_required", inputRequests: { confirm } },
    requestState: `${params.requestState ?? ""}.`,
  },
});

/** How long a call may wait, in milliseconds. */
function waited({ askedAt, expiresAt }: Readonly<Record<"askedAt" | "expiresAt", string>>): number {
  return Date.parse(expiresAt) - Date.parse(askedAt);
}

/** What writes over a terminal, or turns the direction of its text. */
const hostile = "\u001b[2J\u009b1A\r\u061c\u200e\u202e\u2066";
// oxlint-disable-next-line no-control-regex
const marks = /[\u001b\u009b\r\u061c\u200e\u202e\u2066]/;

describe("waiting list", () => {
  test("shows what is asked, and neither the id of the call nor the state of its server", async () => {
    const { inStore, json, call, server, row, origin } = await startAnswering();
    expect(json.calls).toMatchObject([
      {
        ...{
          row,
          state: "waiting",
          type: "question",
          connection: "notes",
          tool: "order",
          round: 1,
        },
        ...{ todo: "Order it?", questions: { confirm: { method: "elicitation/create" } } },
      },
    ]);
    const seen = await runCli("waiting", "list", ...inStore);
    const [, typed = ""] = /^To answer: durable-mcp (.*)$/m.exec(seen.stdout) ?? [];
    expect(typed).toBe(`waiting answer ${row} ${inStore.join(" ")} --server ${origin}`);
    const typedSo = await runCli(...typed.split(" "), "--data", "{}");
    expect(typedSo.stderr).toContain("Order it?");
    for (const secret of [call.id!, ...server.states, "alice", "an oolong"]) {
      expect(seen.stdout + JSON.stringify(json)).not.toContain(secret);
    }
  });
});

describe("waiting answer", () => {
  test("writes over no terminal, whatever the fields of a form say", async () => {
    const says = { type: hostile, title: hostile, description: hostile, default: hostile };
    const properties = {
      [hostile]: says,
      listed: { ...says, enum: [hostile, 5, { toString: 1 }], enumNames: [7, hostile] },
      titled: { type: "string", oneOf: [{ const: hostile, title: 7 }, { const: 7 }] },
      numbered: { type: 7, title: 7, description: { toString: 1 }, default: 5 },
    };
    const requestedSchema = { type: "object", properties, required: [hostile] };
    const { answer } = await startAnswering({
      question: aQuestion({ message: hostile, requestedSchema }),
    });
    const { stdout, stderr, exitCode } = await answer({ listed: hostile });
    expect(stdout + stderr).not.toMatch(marks);
    expect(stderr).toContain('  numbered, optional: 7. 7: {"toString":1}');
    expect(stderr).toContain('of [2J 1A (7), 5 ([2J 1A), {"toString":1}. [2J 1A');
    expect(exitCode).toBe(2);
  });

  test("sends the answers once, and says what comes next", async () => {
    const { answer, sessions, server, inStore } = await startAnswering();
    const seen = await answer({ ok: true });
    expect(seen).toMatchObject({ exitCode: 0 });
    expect(seen.stderr).toContain("ok, required: boolean");
    expect(seen.stdout).toContain("The server has answered");
    expect(server.legs.map(({ params }) => params.inputResponses)).toEqual([
      undefined,
      { confirm: { action: "accept", content: { ok: true } } },
    ]);
    expect(server.legs[1]!.params.requestState).toBe(server.states[0]);
    expect(await sessions.waiting("chat-of-alice", { principal: alice })).toEqual([]);
    const again = await answer({ ok: true });
    expect(again).toMatchObject({ exitCode: 1 });
    expect(again.stderr).toContain("takes no answer (settled)");
    expect(server.legs).toHaveLength(2);
    const over = await runCliJson("waiting", "list", "--all", ...inStore);
    expect(over.json.calls).toMatchObject([{ state: "settled" }]);
  });

  test("checks answers against the form before anything is sent, and repeats no value", async () => {
    const { answer, server, row, inStore, origin } = await startAnswering();
    const wrong = await answer({ ok: "a-secret-answer" });
    expect(wrong).toMatchObject({ exitCode: 2 });
    expect(wrong.stderr).toContain("--data: confirm.content.ok must be true or false");
    expect(wrong.stderr).not.toContain("a-secret-answer");
    const told = ["waiting", "answer", row, ...inStore, "--server", origin];
    const broken = await runCli(...told, "--data", "{a-secret-answer");
    expect(broken).toMatchObject({ exitCode: 2 });
    expect(broken.stderr).not.toContain("a-secret-answer");
    const none = await runCli(...told);
    expect(none).toMatchObject({ exitCode: 2 });
    expect(none.stderr).toContain("--data is missing");
    expect(server.legs).toHaveLength(1);
  });

  test("goes to no server that the command line does not name", async () => {
    const { row, inStore, server, origin } = await startAnswering();
    const no = JSON.stringify({ confirm: { action: "decline" } });
    const declined = ["waiting", "answer", row, ...inStore, "--data", no];
    const unnamed = await runCli(...declined);
    expect(unnamed).toMatchObject({ exitCode: 2 });
    expect(unnamed.stderr).toContain(`--server is missing for ${origin}`);
    expect(server.legs).toHaveLength(1);
    expect(await runCli(...declined, "--server", origin)).toMatchObject({ exitCode: 0 });
    expect(server.legs[1]!.params.inputResponses).toEqual({ confirm: { action: "decline" } });
  });

  test("shows the page of a question that only its user opens, and answers it for nobody", async () => {
    const url = "https://shop.example/terms/42";
    const params = { mode: "url", message: "Agree to the terms.", url };
    const asked = { question: aQuestion(params) };
    const { row, inStore, json, origin, server } = await startAnswering(asked);
    expect(json.calls[0].todo).toBe("a page to open: Agree to the terms.");
    const data = ["--data", '{ "confirm": { "action": "accept" } }', "--server", origin];
    const seen = await runCli("waiting", "answer", row, ...inStore, ...data);
    expect(seen).toMatchObject({ exitCode: 1 });
    expect(seen.stderr).toContain("A page for the user of the call (on shop.example)");
    expect(seen.stderr).toContain(url);
    expect(seen.stderr).toContain("Only the user of the call opens the page.");
    expect(server.legs).toHaveLength(1);
  });

  test("takes no answer for a sign-in, and says who has to sign in", async () => {
    const { store, address } = openFile();
    const app = await startLockedShop({ waiting: true, sessionsOptions: { store } });
    await parkCalls(app, [{ tool: "work__order", input: { item: "tea" } }]);
    const inStore = ["--store", address];
    const { json } = await runCliJson("waiting", "list", ...inStore);
    const todo =
      "the user signs in to work in the application, if that is not done; the next step then carries the call out";
    expect(json.calls).toMatchObject([{ type: "call-waits-for-sign-in", state: "waiting", todo }]);
    const answer = ["waiting", "answer", json.calls[0].row, ...inStore, "--data", "{}"];
    const seen = await runCli(...answer, "--server", app.url);
    expect(seen).toMatchObject({ exitCode: 1 });
    expect(seen.stderr).toContain(todo);
    expect(app.calls()).toHaveLength(1);
  });

  test("says of a task that nobody has to do anything", async () => {
    const { store, address } = openFile();
    const { newSessions } = await startLab("task of 2026-07-28", {
      store,
      waiting: { maxAgeMs: 1 },
    });
    await newSessions().run("chat", use, (run) => run.call("lab", "research", about));
    const { json } = await runCliJson("waiting", "list", "--store", address);
    const todo = "nothing: its server works on it, and the application looks";
    expect(json.calls).toMatchObject([{ type: "task", state: "waiting", todo }]);
  });

  test("says of a call whether its conversation has the result", async () => {
    const { store, address } = openFile();
    const app = await startLockedShop({ waiting: true, sessionsOptions: { store } });
    const messages = await parkCalls(app, [{ tool: "work__look", input: {} }]);
    await app.signIn();
    await app.step(messages, ["Ordered."]);
    const { json } = await runCliJson("waiting", "list", "--all", "--store", address);
    const todo = "nothing: the conversation has the result";
    expect(json.calls).toMatchObject([{ state: "settled", todo }]);
    const seen = await runCli("waiting", "answer", json.calls[0].row, "--store", address);
    expect(seen.stderr).toContain(
      "This call takes no answer (settled): nothing: the conversation has",
    );
  });

  test("leaves a call whose time is up to the application, which may have it asked again", async () => {
    const maxAgeMs = 1;
    const waiting = { maxAgeMs, onExpired: "ask-again" } as const;
    const { answer, inStore, row, origin, server, sessions } = await startAnswering(
      {},
      "order",
      waiting,
    );
    const late = await answer({ ok: true });
    expect(late).toMatchObject({ exitCode: 1 });
    expect(late.stderr).toContain("--ask-again");
    expect(server.legs).toHaveLength(1);
    expect(await sessions.waiting("chat-of-alice", { principal: alice })).toHaveLength(1);
    const again = ["waiting", "answer", row, ...inStore, "--server", origin, "--ask-again"];
    expect((await runCli(...again)).stdout).toContain("The server asks more, in round 2");
    expect(server.legs).toHaveLength(2);
    expect(server.legs[1]!.params.inputResponses).toBeUndefined();
    const withdrawn = await runCli("waiting", "withdraw", row, ...inStore, "--yes");
    expect(withdrawn).toMatchObject({ exitCode: 0 });
  });

  test("keeps how long a call may wait", async () => {
    const waiting = { maxAgeMs: 60_000 } as const;
    const { answer, json, inStore } = await startAnswering({ answer: asks }, "order", waiting);
    expect(waited(json.calls[0])).toBe(60_000);
    expect((await answer({ ok: true })).stdout).toContain("in round 2");
    const after = await runCliJson("waiting", "list", ...inStore);
    expect(waited(after.json.calls[0])).toBe(60_000);
  });

  test("fails when nobody knows the outcome, and does not send the answers again", async () => {
    const { answer, server } = await startAnswering({
      answer: ({ params }) => (params.inputResponses ? { status: 500, text: "" } : undefined),
    });
    const seen = await answer({ ok: true });
    expect(seen).toMatchObject({ exitCode: 1 });
    expect(seen.stdout).toContain("Nobody knows whether the server has carried out the call");
    expect(await answer({ ok: true })).toMatchObject({ exitCode: 1 });
    expect(server.legs).toHaveLength(2);
  });
});

describe("waiting withdraw", () => {
  test("takes a call back, after it was asked", async () => {
    const { row, inStore, sessions, server } = await startAnswering();
    const withdraw = ["waiting", "withdraw", row, ...inStore];
    const unasked = await runCli(...withdraw);
    expect(unasked).toMatchObject({ exitCode: 2, stdout: "" });
    expect(unasked.stderr).toContain("--yes");
    const seen = await runCli(...withdraw, "--yes");
    expect(seen).toMatchObject({ exitCode: 0 });
    expect(seen.stdout).toContain("None of them was carried out.");
    expect(await sessions.waiting("chat-of-alice", { principal: alice })).toEqual([]);
    expect(server.legs).toHaveLength(1);
  });

  test("has a server stop that works on the call", async () => {
    const { store, address } = openFile();
    const { slow, newSessions, list } = await startLab("task of 2026-07-28", { store });
    await newSessions().run("chat", use, (run) => run.call("lab", "research", about));
    const row = (await runCliJson("waiting", "list", "--store", address)).json.calls[0].row;
    const withdraw = ["waiting", "withdraw", row, "--store", address, "--yes"];
    const unnamed = await runCli(...withdraw);
    expect(unnamed).toMatchObject({ exitCode: 2, stdout: "" });
    expect(unnamed.stderr).toContain("--server is missing");
    const seen = await runCli(...withdraw, "--server", slow.url);
    expect(seen.stdout).toContain("How far servers and sub-agents had got is unknown.");
    expect(slow.log).toContain("POST tasks/cancel");
    expect(await list()).toEqual([]);
  });
});
