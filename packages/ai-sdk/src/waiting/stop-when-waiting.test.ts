import { describe, expect, test } from "vitest";
import type { ModelMessage, ToolSet } from "ai";
import { majors, modelOfBoth, shopTools, waitingResult } from "../../test/waiting-tool.ts";
import { waitingModelOutput } from "../tools/model-output.ts";
import { stopWhenWaiting } from "./stop-when-waiting.ts";

const order = [{ tool: "shop__order", input: { item: "tea" } }];
const prompt: ModelMessage[] = [{ role: "user", content: "Order tea." }];
const toolMessages: ModelMessage[] = [
  {
    role: "assistant",
    content: [
      { type: "tool-call", toolCallId: "call-1", toolName: "shop__order", input: { item: "tea" } },
    ],
  },
  {
    role: "tool",
    content: [
      {
        ...{ type: "tool-result", toolCallId: "call-1", toolName: "shop__order" },
        output: waitingModelOutput(waitingResult("wait-1")),
      },
    ],
  },
];
const afterSteps =
  (count: number) =>
  ({ steps }: { steps: readonly unknown[] }) =>
    steps.length === count;

type Ai = (typeof majors)[number]["ai"];
type Model = ReturnType<typeof modelOfBoth>;
interface Run {
  readonly model: Model;
  readonly tools: ToolSet;
  readonly messages: ModelMessage[];
  readonly [setting: string]: unknown;
}

const finished = async (result: any) => {
  const read = { steps: await result.steps, text: await result.text };
  return {
    ...read,
    finishReason: await result.finishReason,
    rawFinishReason: await result.rawFinishReason,
    usage: await result.totalUsage,
    // AI SDK 7 has those of the last step alone in `response`.
    messages: ((await result.responseMessages) ??
      (await result.response).messages) as ModelMessage[],
  };
};
const throwError = ({ error }: { error: unknown }) => {
  throw error;
};

/** The three ways to run a loop. */
const apis = [
  {
    api: "generateText",
    run: async (ai: Ai, run: Run) => finished(await ai.generateText(run)),
  },
  {
    api: "streamText",
    run: async (ai: Ai, run: Run) => finished(ai.streamText({ onError: throwError, ...run })),
  },
  {
    api: "ToolLoopAgent.generate",
    run: async (ai: Ai, { messages, abortSignal, ...settings }: Run) =>
      finished(await new ai.ToolLoopAgent(settings).generate({ messages, abortSignal } as never)),
  },
  {
    api: "ToolLoopAgent.stream",
    run: async (ai: Ai, { messages, abortSignal, ...settings }: Run) =>
      finished(await new ai.ToolLoopAgent(settings).stream({ messages, abortSignal } as never)),
  },
];

const callsOf = (model: Model) => [...model.doGenerateCalls, ...model.doStreamCalls].length;

const combinations = majors.flatMap((major) => apis.map((api) => ({ ...major, ...api })));

describe.each(combinations)("AI SDK $major, $api", ({ ai, run, major }) => {
  test("the loop ends after a call that waits, without another call of the model", async () => {
    const { tools } = shopTools();
    const model = modelOfBoth(order, "It is ordered.");
    const settings = stopWhenWaiting({ stopWhen: afterSteps(10) });
    const result = await run(ai, { model, tools, messages: prompt, ...settings });
    expect(callsOf(model)).toBe(1);
    expect(result).toMatchObject({ text: "", finishReason: "other", rawFinishReason: "waiting" });
    expect(result.messages.map(({ role }) => role)).toEqual(["assistant", "tool"]);
    expect(JSON.stringify(result.messages)).toContain('{"durable-mcp":{"waiting":"wait-1"}}');
  });

  test("the loop ends if one of several calls waits", async () => {
    const { tools } = shopTools();
    const model = modelOfBoth([{ tool: "shop__price", input: { item: "tea" } }, ...order], "Done.");
    const settings = stopWhenWaiting({ stopWhen: afterSteps(10) });
    const { messages } = await run(ai, { model, tools, messages: prompt, ...settings });
    expect(callsOf(model)).toBe(1);
    expect(JSON.stringify(messages)).toContain('"euros":30');
  });

  test("a loop in which nothing waits goes on, with the application's own settings", async () => {
    const { tools } = shopTools({ execute: async () => ({ ordered: 1 }) });
    const model = modelOfBoth(order, order, "It is ordered.", "Never said.");
    const prepared: number[] = [];
    const settings = stopWhenWaiting({
      stopWhen: [afterSteps(10), afterSteps(9)],
      prepareStep: async ({ stepNumber }) => {
        prepared.push(stepNumber);
        return undefined;
      },
    });
    const { text } = await run(ai, { model, tools, messages: prompt, ...settings });
    expect(text).toBe("It is ordered.");
    expect(prepared).toEqual([0, 1, 2]);
  });

  test("the application's own conditions end the loop as well", async () => {
    const { tools } = shopTools({ execute: async () => ({ ordered: 1 }) });
    const model = modelOfBoth(order, order, "Never said.");
    const settings = stopWhenWaiting({ stopWhen: [afterSteps(2), afterSteps(9)] });
    const { steps } = await run(ai, { model, tools, messages: prompt, ...settings });
    expect(steps).toHaveLength(2);
  });

  test("what prepareStep returns is used, and it is not asked about a silent step", async () => {
    const { tools } = shopTools();
    const asked: number[] = [];
    const model = modelOfBoth();
    const chosen = modelOfBoth(order, "Never said.");
    const settings = stopWhenWaiting({
      stopWhen: afterSteps(10),
      prepareStep: ({ stepNumber }) => {
        asked.push(stepNumber);
        return { model: chosen };
      },
    });
    await run(ai, { model, tools, messages: prompt, ...settings });
    expect(asked).toEqual([0]);
    expect([callsOf(model), callsOf(chosen)]).toEqual([0, 1]);
  });

  test("a tool choice that demands a call does not fail the silent step", async () => {
    const { tools } = shopTools();
    const model = modelOfBoth(order, "Never said.");
    const settings = stopWhenWaiting({ stopWhen: afterSteps(10) });
    const choice = { toolChoice: "required" };
    const result = await run(ai, { model, tools, messages: prompt, ...choice, ...settings });
    expect(result.finishReason).toBe("other");
    expect(callsOf(model)).toBe(1);
  });

  test("a question after the application's own approval ends the loop before the model is called", async () => {
    const approval =
      major === 6 ? { needsApproval: true } : ({ needsApproval: undefined } as object);
    const { tools, calls } = shopTools(approval);
    const own = major === 6 ? {} : { toolApproval: { shop__order: "user-approval" } };
    const model = modelOfBoth(order, "Never said.");
    const settings = { ...own, ...stopWhenWaiting({ stopWhen: afterSteps(10) }) };
    const first = await run(ai, { model, tools, messages: prompt, ...settings });
    expect(calls).toHaveLength(0);

    const [request] = first.messages
      .flatMap(({ content }) => content as { type: string; approvalId: string }[])
      .filter(({ type }) => type === "tool-approval-request");
    const { approvalId } = request!;
    const approved: ModelMessage = {
      role: "tool",
      content: [{ type: "tool-approval-response", approvalId, approved: true }],
    };
    const messages = [...prompt, ...first.messages, approved];
    const second = await run(ai, { model, tools, messages, ...settings });
    expect(calls).toEqual([{ item: "tea" }]);
    expect(callsOf(model)).toBe(1);
    expect(second.finishReason).toBe("other");
    expect(JSON.stringify(second.messages)).toContain('{"durable-mcp":{"waiting":"wait-1"}}');
  });

  test("a run on messages in which a call still waits says nothing, whoever wrote meanwhile", async () => {
    const { tools } = shopTools();
    const settings = stopWhenWaiting({ stopWhen: afterSteps(10) });
    const first = await run(ai, {
      ...{ model: modelOfBoth(order), tools, messages: prompt },
      ...settings,
    });
    const stored = JSON.parse(JSON.stringify([...prompt, ...first.messages])) as ModelMessage[];
    const messages: ModelMessage[] = [...stored, { role: "user", content: "And?" }];
    const model = modelOfBoth("Never said.");
    const { finishReason } = await run(ai, { model, tools, messages, ...settings });
    expect(finishReason).toBe("other");
    expect(callsOf(model)).toBe(0);
  });

  test("a run that was aborted before is no silent end", async () => {
    const { tools } = shopTools();
    const settings = stopWhenWaiting({ stopWhen: afterSteps(10) });
    const running = run(ai, {
      ...{ model: modelOfBoth("Never said."), tools, messages: [...prompt, ...toolMessages] },
      ...{ abortSignal: AbortSignal.abort(new Error("The user left.")), ...settings },
    });
    await expect(running).rejects.toThrow(/The user left|aborted/);
  });

  test("a call that waited before the last answer of the model does not end the loop", async () => {
    const { tools } = shopTools();
    const settings = stopWhenWaiting({ stopWhen: afterSteps(10) });
    const first = await run(ai, {
      ...{ model: modelOfBoth(order), tools, messages: prompt },
      ...settings,
    });
    const messages: ModelMessage[] = [
      ...[...prompt, ...first.messages, { role: "assistant", content: "It waits." } as const],
      { role: "user", content: "What does tea cost?" },
    ];
    const model = modelOfBoth("30 euros.");
    expect((await run(ai, { model, tools, messages, ...settings })).text).toBe("30 euros.");
  });

  test("a call waits whatever messages prepareStep gave the model before", async () => {
    const { tools } = shopTools();
    const model = modelOfBoth(order, "Never said.");
    const settings = stopWhenWaiting({
      stopWhen: afterSteps(10),
      prepareStep: () => ({ messages: prompt }),
    });
    await run(ai, { model, tools, messages: prompt, ...settings });
    expect(callsOf(model)).toBe(1);
  });

  test("an abort while the call is made is an abort, and no silent end", async () => {
    const controller = new AbortController();
    const { tools } = shopTools({
      execute: () => {
        controller.abort(new Error("The user left."));
        return waitingResult("wait-1");
      },
    });
    const model = modelOfBoth(order, "Never said.");
    const running = run(ai, {
      ...{ model, tools, messages: prompt, abortSignal: controller.signal },
      ...stopWhenWaiting({ stopWhen: afterSteps(10) }),
    });
    await expect(running).rejects.toThrow(/The user left|aborted/);
    expect(callsOf(model)).toBe(1);
  });
});

test("refuses a list in which not all are stop conditions", () => {
  const stopWhen = [() => true, 10] as never;
  expect(() => stopWhenWaiting({ stopWhen })).toThrow(
    expect.objectContaining({
      code: "CONNECTION_INVALID",
      data: { field: "stopWhen" },
      message: "stopWhen must be a stop condition, or a list of stop conditions.",
    }),
  );
});

test("without a stop condition there is none, so that AI SDK's default stays", () => {
  expect(Object.keys(stopWhenWaiting())).toEqual(["prepareStep"]);
});
