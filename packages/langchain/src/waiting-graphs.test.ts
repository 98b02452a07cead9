import { AIMessage, HumanMessage, type ToolMessage } from "@langchain/core/messages";
import { interrupt, MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { createAgent, fakeModel, toolRetryMiddleware } from "langchain";
import { describe, expect, test } from "vitest";
import {
  accept,
  order,
  questions,
  results,
  resuming,
  startAgent,
  startShop,
  createToolNode,
} from "../test/shop.ts";
import { loadSessionTools, type SessionToolsOptions } from "./load-session-tools.ts";
import { sessionToolsMiddleware } from "./session-tools-middleware.ts";

const yes = accept(true);
async function startToolNode(options: SessionToolsOptions = {}) {
  const shop = await startShop();
  return { ...shop, ...createToolNode(shop.step, options) };
}

describe("calls that share a task of a graph", () => {
  test("ask one after the other, and none gets the answer of another", async () => {
    const { start, resume, legs } = await startToolNode();
    const tea = accept(true);
    const milk = accept(false);
    const asked = await start([order("tea"), order("milk")]);
    const [first] = questions(asked);
    expect(questions(asked)).toHaveLength(1);
    expect(legs()).toHaveLength(2);

    const answers = { "call-tea": tea, "call-milk": milk };
    const answerTo = ({ toolCallId = "" }) => answers[toolCallId as keyof typeof answers];
    const second = await resume(answerTo(first!));
    expect(questions(second)).toHaveLength(1);
    expect(questions(second)[0]!.toolCallId).not.toBe(first!.toolCallId);
    const done = await resume(answerTo(questions(second)[0]!));
    expect(results(done)).toEqual(["order tea is done.", "order milk is done."]);
    expect(legs()).toHaveLength(4);
    expect(legs()).toContainEqual(["tea", tea]);
    expect(legs()).toContainEqual(["milk", milk]);
  });

  test("are made again with each answer, if they asked nothing", async () => {
    const { start, resume, legs } = await startToolNode();
    await start([order("tea"), order("shelf", "look")]);
    expect(results(await resume(yes))).toEqual(["order tea is done.", "look shelf is done."]);
    expect(legs().filter(([item]) => item === "shelf")).toHaveLength(2);
    expect(legs().filter(([item]) => item === "tea")).toHaveLength(2);
  });

  test("take no answer of another that LangGraph gives again", async () => {
    const { run, start, resume, answerAll, legs } = await startToolNode();
    await start([order("tea"), order("milk")]);
    expect(questions(await resume(yes))).toHaveLength(1);
    const again = await run(null);
    expect(questions(again)).toMatchObject([{ error: { code: "INPUT_INVALID" } }]);
    expect(legs()).toHaveLength(3);
    expect(results(await answerAll(again, yes))).toHaveLength(2);
    expect(legs()).toHaveLength(4);
  });

  test("are told apart by their messages, if a model gives an id again", async () => {
    const { start, resume, legs } = await startToolNode();
    await start([order("tea")]);
    await resume(yes);
    expect(questions(await start([order("tea")], "another"))).toHaveLength(1);
    expect(legs()).toHaveLength(3);
  });

  test("are found again, though a hook changes the arguments in each run", async () => {
    let count = 0;
    const beforeToolCall = () => ({ args: { trace: String((count += 1)) } });
    const { start, resume, legs, shop } = await startToolNode({ beforeToolCall });
    await start([order("tea")]);
    expect(results(await resume(yes))).toEqual(["order tea is done."]);
    expect(legs()).toHaveLength(2);
    const traces = shop.legs.map(({ params }) => params.arguments?.["trace"]);
    expect(traces).toEqual(["1", "1"]);
  });
});

test("interrupts of an application stand between those of its calls, without ids of a model", async () => {
  const shop = await startShop();
  const checkpointer = new MemorySaver();
  const config = { configurable: { thread_id: "chat" } };
  const run = (input: unknown) =>
    shop.step(async () => {
      const tools = await loadSessionTools();
      const placeOrder = tools.find(({ name }) => name === "shop__order_twice")!;
      const graph = new StateGraph(MessagesAnnotation)
        .addNode("node", async () => {
          const who = interrupt<string, string>("Who?");
          const first = (await placeOrder.invoke({ item: "tea" })) as string;
          const what = interrupt<string, string>("What else?");
          const second = (await placeOrder.invoke({ item: "tea" })) as string;
          return { messages: [new HumanMessage([who, first, what, second].join(" / "))] };
        })
        .addEdge("__start__", "node")
        .compile({ checkpointer });
      return await graph.invoke(input as never, config);
    });
  const { resume, answerAll } = resuming(run);
  const no = accept(false);

  expect(questions(await run({ messages: [] }))).toEqual(["Who?"]);
  expect(questions(await resume("ada"))).toMatchObject([{ round: 1 }]);
  expect(questions(await resume(yes))).toMatchObject([{ round: 2 }]);
  expect(questions(await resume(no))).toEqual(["What else?"]);
  const asked = await resume("more");
  expect(questions(asked)).toMatchObject([{ round: 1 }]);
  const next = await answerAll(asked, no);
  expect(questions(next)).toMatchObject([{ round: 2 }]);
  const done = await answerAll(next, yes);
  const made = "order_twice tea is done.";
  expect(done.messages!.at(-1)!.content).toBe(`ada / ${made} / more / ${made}`);
  expect(shop.legs().map(([, answer]) => answer)).toEqual([undefined, yes, no, undefined, no, yes]);
});

describe("where no graph can be interrupted", () => {
  const text = expect.stringMatching(/^This call is not done yet.*Do not make the call again/);

  test("a tool gives the text, and the call for code; later its result", async () => {
    const { step, answer, waiting, legs } = await startShop();
    const call = () =>
      step(async () => {
        const tools = await loadSessionTools();
        const tool = tools.find(({ name }) => name === "shop__order")!;
        return (await tool.invoke({ ...order("tea"), type: "tool_call" })) as ToolMessage;
      });
    const { content, artifact, status } = await call();
    const [question] = await waiting();
    expect({ content, status }).toEqual({ content: text, status: "success" });
    expect(artifact).toEqual([{ type: "mcp_meta", data: { "durable-mcp/waiting": question } }]);
    await answer(question!.id, yes);
    expect((await call()).content).toBe("order tea is done.");
    expect(legs()).toHaveLength(2);
  });

  test("an agent without a checkpointer gets the text", async () => {
    const { step } = await startShop();
    const model = fakeModel()
      .respondWithTools([order("tea")])
      .respond(new AIMessage("It waits."));
    const agent = createAgent({ model, middleware: [sessionToolsMiddleware()] });
    const done = await step(() => agent.invoke({ messages: [new HumanMessage("Go.")] }));
    expect(results(done)).toEqual([text]);
  });
});

test("an interrupt is no error of the tool: middleware may tell it from one", async () => {
  const untyped = toolRetryMiddleware as (options: object) => unknown;
  const seen: unknown[] = [];
  const retryOn = (error: Error) => {
    seen.push(error.name);
    return error.name !== "GraphInterrupt";
  };
  const middleware = [untyped({ maxRetries: 2, initialDelayMs: 1, retryOn, onFailure: "error" })];
  const { start, resume, legs } = await startAgent([[order("tea")]], {}, { middleware });
  expect(questions(await start())).toHaveLength(1);
  expect(seen).toEqual(["GraphInterrupt"]);
  expect(results(await resume(yes))).toEqual(["order tea is done."]);
  expect(legs()).toHaveLength(2);
});
