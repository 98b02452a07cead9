import { Command } from "@langchain/langgraph";
import { describe, expect, test } from "vitest";
import { confirm } from "../../sessions/test/asking-server.ts";
import { accept, order, questions, results, startAgent } from "../test/shop.ts";

const yes = accept(true);

describe("an agent whose server asks", () => {
  test("is interrupted with the question, and goes on with the answer: two legs", async () => {
    const { start, resume, legs, waiting, shop } = await startAgent([[order("tea")]]);
    const asked = await start();
    expect(questions(asked)).toEqual(await waiting());
    expect(questions(asked)).toMatchObject([
      { type: "question", tool: "order", toolCallId: "call-tea", round: 1, requests: { confirm } },
    ]);
    expect(JSON.stringify(asked)).not.toContain(shop.states[0]);
    expect(legs()).toEqual([["tea", undefined]]);

    const done = await resume(yes);
    expect(questions(done)).toEqual([]);
    expect(results(done)).toEqual(["order tea is done."]);
    expect(legs()).toEqual([
      ["tea", undefined],
      ["tea", yes],
    ]);
    expect(await waiting()).toEqual([]);
  });

  test("sends one leg for each answer, however many rounds there are", async () => {
    const { start, resume, legs } = await startAgent([[order("tea", "order_twice")]]);
    await start();
    const again = await resume(yes);
    expect(questions(again)).toMatchObject([{ round: 2 }]);
    const no = accept(false);
    expect(results(await resume(no))).toEqual(["order_twice tea is done."]);
    expect(legs()).toEqual([
      ["tea", undefined],
      ["tea", yes],
      ["tea", no],
    ]);
  });

  test("sends nothing when the graph is run again without an answer", async () => {
    const { start, goOn, resume, answerAll, legs } = await startAgent([
      [order("tea", "order_twice")],
    ]);
    await start();
    expect(questions(await goOn())).toMatchObject([{ round: 1 }]);
    await resume(yes);
    // LangGraph gives the answer to the first question again.
    const again = await goOn();
    expect(questions(again)).toMatchObject([{ round: 2, error: { code: "INPUT_INVALID" } }]);
    expect(questions(again)[0]!.error!.message).toMatch(/without the id of its interrupt/);
    expect(legs()).toHaveLength(2);
    expect(results(await answerAll(again, yes))).toEqual(["order_twice tea is done."]);
    expect(legs()).toHaveLength(3);
  });

  test("asks again, with the reason, for an answer that does not fit, and sends nothing", async () => {
    const { start, resume, goOn, legs } = await startAgent([[order("tea", "order_twice")]]);
    await start();
    const wrong = await resume(accept("yes"));
    expect(questions(wrong)).toMatchObject([
      { round: 1, error: { code: "INPUT_INVALID", field: "confirm.content.ok" } },
    ]);
    expect(questions(await resume(true))).toMatchObject([
      { round: 1, error: { code: "INPUT_INVALID", field: "responses" } },
    ]);
    expect(questions(await goOn())).toMatchObject([{ round: 1, error: { field: "responses" } }]);
    expect(legs()).toHaveLength(1);

    const [second] = questions(await resume(yes));
    expect(second).toMatchObject({ round: 2 });
    expect(second).not.toHaveProperty("error");
    expect(questions(await resume({ confirm: {} }))).toMatchObject([{ round: 2, error: {} }]);
    expect(results(await resume(accept(false)))).toEqual(["order_twice tea is done."]);
    expect(legs()).toEqual([
      ["tea", undefined],
      ["tea", yes],
      ["tea", accept(false)],
    ]);
  });

  test.each(["decline", "cancel"] as const)("tells the server of %s", async (action) => {
    const { start, resume, legs } = await startAgent([[order("tea")]]);
    await start();
    expect(results(await resume({ confirm: { action } }))).toHaveLength(1);
    expect(legs()[1]).toEqual(["tea", { confirm: { action } }]);
  });

  test("makes a call with the id of an earlier one anew", async () => {
    const { start, resume, legs } = await startAgent([[order("tea")], [order("tea")]]);
    await start();
    expect(questions(await resume(yes))).toMatchObject([{ round: 1 }]);
    expect(results(await resume(yes))).toHaveLength(2);
    expect(legs()).toHaveLength(4);
  });
});

/** The application's way to the server, which answers the first of the later legs with a status. */
function refusing(status: number): { fetch: typeof globalThis.fetch } {
  let isUsed = false;
  return {
    fetch: async (input, init) => {
      const isLater = typeof init?.body === "string" && init.body.includes('"inputResponses"');
      if (isUsed || !isLater) return await fetch(input, init);
      isUsed = true;
      return new Response(null, { status });
    },
  };
}

test("an answer that the server did not take can be given again", async () => {
  const { start, resume, legs } = await startAgent([[order("tea")]], {}, refusing(429));
  await start();
  const refused = await resume(yes);
  expect(questions(refused)).toMatchObject([
    { round: 1, error: { code: "CONNECTION_UNAVAILABLE" } },
  ]);
  expect(results(await resume(yes))).toEqual(["order tea is done."]);
  expect(legs()).toHaveLength(2);
});

describe("two calls that ask at once", () => {
  test("have an interrupt each, and each gets its own answer", async () => {
    const { start, resume, legs } = await startAgent([[order("tea"), order("milk")]]);
    const { __interrupt__: interrupts = [] } = await start();
    expect(interrupts).toHaveLength(2);
    const answers = { tea: accept(true), milk: accept(false) };
    const map = interrupts.map(({ id, value }) => {
      const { toolCallId } = value as { toolCallId: string };
      return [id, toolCallId === "call-tea" ? answers.tea : answers.milk];
    });
    expect(results(await resume(Object.fromEntries(map)))).toEqual([
      "order tea is done.",
      "order milk is done.",
    ]);
    expect(legs()).toHaveLength(4);
    expect(legs()).toContainEqual(["tea", answers.tea]);
    expect(legs()).toContainEqual(["milk", answers.milk]);
  });

  test("may be answered one after the other", async () => {
    const { start, resume, legs } = await startAgent([[order("tea"), order("milk")]]);
    const { __interrupt__: interrupts = [] } = await start();
    const [first, second] = interrupts;
    const one = await resume({ [first!.id!]: yes });
    expect(questions(one)).toMatchObject([second!.value]);
    expect(legs()).toHaveLength(3);
    expect(results(await resume({ [second!.id!]: yes }))).toHaveLength(2);
    expect(legs()).toHaveLength(4);
  });
});

test("an answer without an id is sent to none of several calls that wait", async () => {
  const { start, resume, answerAll, legs } = await startAgent([[order("tea"), order("milk")]]);
  await start();
  const asked = await resume(yes);
  expect(questions(asked)).toMatchObject([{ error: {} }, { error: {} }]);
  expect(questions(asked)[0]!.error!.message).toMatch(/without the id of its interrupt/);
  expect(legs()).toHaveLength(2);
  expect(results(await answerAll(asked, yes))).toHaveLength(2);
  expect(legs()).toHaveLength(4);
});

test("an answer that was refused for want of an id is not taken later, when LangGraph gives it again", async () => {
  const { start, resume, goOn, answerAll, legs } = await startAgent([
    [order("tea"), order("milk")],
  ]);
  await start();
  const { __interrupt__: refused = [] } = await resume(yes);
  const [first] = refused;
  // One of them is answered by its id, and the other one waits alone.
  expect(questions(await answerAll({ __interrupt__: [first!] }, yes))).toHaveLength(1);
  const alone = await goOn();
  expect(questions(alone)).toMatchObject([{ error: { code: "INPUT_INVALID" } }]);
  expect(legs()).toHaveLength(3);
  expect(results(await answerAll(alone, yes))).toHaveLength(2);
  expect(legs()).toHaveLength(4);
});

test("two answers to the same question at the same time are one leg", async () => {
  const { start, resume, legs } = await startAgent([[order("tea")]]);
  await start();
  const done = await Promise.all([resume(yes), resume(yes)]);
  for (const state of done) expect(results(state)).toEqual(["order tea is done."]);
  expect(legs()).toHaveLength(2);
});

test("an answer together with an update of the state is one leg", async () => {
  const { start, resume, run, legs } = await startAgent([[order("tea", "order_twice")]]);
  await start();
  const update = { messages: [] };
  expect(questions(await run(new Command({ resume: yes, update })))).toMatchObject([{ round: 2 }]);
  expect(legs()).toHaveLength(2);
  expect(results(await resume(accept(false)))).toEqual(["order_twice tea is done."]);
  expect(legs()).toHaveLength(3);
});

describe("an answer from elsewhere, before the graph goes on", () => {
  test("settles the call: the value of the resume is not sent", async () => {
    const { start, resume, answer, legs } = await startAgent([[order("tea")]]);
    const [question] = questions(await start());
    expect((await answer(question!.id, accept(false))).state).toBe("settled");
    expect(results(await resume(yes))).toEqual(["order tea is done."]);
    expect(legs()).toEqual([
      ["tea", undefined],
      ["tea", accept(false)],
    ]);
  });

  test("is never taken for the answer to the next round", async () => {
    const { start, resume, answerAll, answer, legs } = await startAgent([
      [order("tea", "order_twice")],
    ]);
    const [question] = questions(await start());
    await answer(question!.id, accept(false));
    const next = await resume(yes);
    expect(questions(next)).toMatchObject([{ round: 2 }]);
    expect(legs()).toHaveLength(2);
    expect(results(await answerAll(next, yes))).toEqual(["order_twice tea is done."]);
    expect(legs().slice(1)).toEqual([
      ["tea", accept(false)],
      ["tea", yes],
    ]);
  });
});

describe("a call that cannot be answered any more", () => {
  test("fails with the reason, when the application has taken it back", async () => {
    const { start, resume, withdraw, legs } = await startAgent([[order("tea")]]);
    const [question] = questions(await start());
    await withdraw(question!.id);
    expect(results(await resume(yes))).toEqual([
      expect.stringMatching(/^ToolException: .*taken the call back/),
    ]);
    expect(legs()).toHaveLength(1);
  });

  test("fails with the reason, when its questions are too old", async () => {
    let time = Date.now();
    const limits = { maxAgeMs: 1_000, now: () => time };
    const { start, resume, legs } = await startAgent([[order("tea")]], {}, limits);
    await start();
    time += 2_000;
    expect(results(await resume(yes))).toEqual([expect.stringMatching(/in time/)]);
    expect(legs()).toHaveLength(1);
  });

  test("fails with the reason, when nobody knows whether the answer arrived", async () => {
    const { start, resume, legs } = await startAgent([[order("tea")]], {}, refusing(500));
    await start();
    expect(results(await resume(yes))).toEqual([expect.stringMatching(/is unknown; check/)]);
    expect(legs()).toHaveLength(1);
  });

  test("has the server's error, if that is its answer", async () => {
    const soldOut = { error: { code: -32_000, message: "Sold out." } };
    const { start, resume } = await startAgent([[order("tea")]], {
      answer: ({ params }) => (params.inputResponses === undefined ? undefined : soldOut),
    });
    await start();
    expect(results(await resume(yes))).toEqual([expect.stringMatching(/Sold out/)]);
  });
});
