import { scriptedModel } from "@durable-mcp/testing/ai-sdk";
import { describe, expect, test } from "vitest";
import {
  experimental_createSteering,
  type ModelMessage,
  readUIMessageStream,
  streamText,
  type ToolSet,
  type UIMessage,
} from "ai";
import { z } from "zod";
import { majors, shopTools, waitingResult } from "../../test/waiting-tool.ts";
import { waitingModelOutput } from "../tool-set/model-output.ts";
import { tellSilentStep } from "./ui-chunks.ts";
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

const inTen = stopWhenWaiting({ stopWhen: afterSteps(10) });

type Ai = (typeof majors)[number]["ai"];
type Model = ReturnType<typeof scriptedModel>;
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
    const model = scriptedModel(order, "It is ordered.");
    const result = await run(ai, { model, tools, messages: prompt, ...inTen });
    expect(callsOf(model)).toBe(1);
    expect(result).toMatchObject({ text: "", finishReason: "other", rawFinishReason: "waiting" });
    expect(result.messages.map(({ role }) => role)).toEqual(["assistant", "tool"]);
    expect(JSON.stringify(result.messages)).toContain('{"durable-mcp":{"waiting":"wait-1"}}');
  });

  test("the loop ends if one of several calls waits", async () => {
    const { tools } = shopTools();
    const model = scriptedModel(
      [{ tool: "shop__price", input: { item: "tea" } }, ...order],
      "Done.",
    );
    const { messages } = await run(ai, { model, tools, messages: prompt, ...inTen });
    expect(callsOf(model)).toBe(1);
    expect(JSON.stringify(messages)).toContain('"euros":30');
  });

  test("a loop in which nothing waits goes on, with the application's own settings", async () => {
    const { tools } = shopTools({ execute: async () => ({ ordered: 1 }) });
    const model = scriptedModel(order, order, "It is ordered.", "Never said.");
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
    const model = scriptedModel(order, order, "Never said.");
    const settings = stopWhenWaiting({ stopWhen: [afterSteps(2), afterSteps(9)] });
    const { steps } = await run(ai, { model, tools, messages: prompt, ...settings });
    expect(steps).toHaveLength(2);
  });

  test("what prepareStep returns is used, and it is not asked about a silent step", async () => {
    const { tools } = shopTools();
    const asked: number[] = [];
    const model = scriptedModel();
    const chosen = scriptedModel(order, "Never said.");
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
    const model = scriptedModel(order, "Never said.");
    const choice = { toolChoice: "required" };
    const result = await run(ai, { model, tools, messages: prompt, ...choice, ...inTen });
    expect(result.finishReason).toBe("other");
    expect(callsOf(model)).toBe(1);
  });

  test("a question after the application's own approval ends the loop before the model is called", async () => {
    const approval =
      major === 6 ? { needsApproval: true } : ({ needsApproval: undefined } as object);
    const { tools, calls } = shopTools(approval);
    const own = major === 6 ? {} : { toolApproval: { shop__order: "user-approval" } };
    const model = scriptedModel(order, "Never said.");
    const settings = { ...own, ...inTen };
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

  test("a run on messages in which a call still waits answers the user, unless it is told to hold", async () => {
    const { tools } = shopTools();
    const first = await run(ai, {
      ...{ model: scriptedModel(order), tools, messages: prompt },
      ...inTen,
    });
    const stored = JSON.parse(JSON.stringify([...prompt, ...first.messages])) as ModelMessage[];
    const messages: ModelMessage[] = [...stored, { role: "user", content: "And?" }];
    const model = scriptedModel("It waits.");
    const { finishReason } = await run(ai, { model, tools, messages, ...inTen });
    expect(finishReason).toBe("stop");
    const hold = stopWhenWaiting({ whileWaiting: "hold" });
    const held = await run(ai, { model, tools, messages, ...hold });
    expect(held.finishReason).toBe("other");
    expect(JSON.stringify(held.messages)).toContain("call of shop__order is done");
    expect(callsOf(model)).toBe(1);
  });

  test("a run that was aborted before is no silent end", async () => {
    const { tools } = shopTools();
    const running = run(ai, {
      ...{ model: scriptedModel("Never said."), tools, messages: [...prompt, ...toolMessages] },
      ...{ abortSignal: AbortSignal.abort(new Error("The user left.")), ...inTen },
    });
    await expect(running).rejects.toThrow(/The user left|aborted/);
  });

  test("a call that waited before the last answer of the model does not end the loop", async () => {
    const { tools } = shopTools();
    const first = await run(ai, {
      ...{ model: scriptedModel(order), tools, messages: prompt },
      ...inTen,
    });
    const messages: ModelMessage[] = [
      ...[...prompt, ...first.messages, { role: "assistant", content: "It waits." } as const],
      { role: "user", content: "What does tea cost?" },
    ];
    const model = scriptedModel("30 euros.");
    expect((await run(ai, { model, tools, messages, ...inTen })).text).toBe("30 euros.");
  });

  test("a call waits whatever messages prepareStep gave the model before", async () => {
    const { tools } = shopTools();
    const model = scriptedModel(order, "Never said.");
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
    const model = scriptedModel(order, "Never said.");
    const running = run(ai, {
      ...{ model, tools, messages: prompt, abortSignal: controller.signal },
      ...inTen,
    });
    await expect(running).rejects.toThrow(/The user left|aborted/);
    expect(callsOf(model)).toBe(1);
  });
});

const ordering = () => ({ model: scriptedModel(order, "Never said."), prompt: "Order tea." });

describe.each(majors)("the silent step of AI SDK $major", ({ ai }) => {
  test("a structured output is not read in no text, and there is none", async () => {
    const output = ai.Output.object({ schema: z.object({ total: z.number() }) });
    const structured = { ...ordering(), tools: shopTools().tools, output, ...inTen };
    const generated = await ai.generateText(structured);
    expect(generated.finishReason).toBe("other");
    expect(() => generated.output).toThrow("No output generated");

    const streamed = ai.streamText({ ...structured, ...ordering() });
    expect(await streamed.finishReason).toBe("other");
    await expect(streamed.output).rejects.toThrow("No object generated");
  });

  test("one silent step is the last, also while a tool of the provider is still at work", async () => {
    const search = { inputSchema: z.object({}), supportsDeferredResults: true };
    const { tools } = shopTools();
    const searching = {
      ...tools,
      search: {
        type: "provider",
        id: "model.search",
        args: {},
        isProviderExecuted: true,
        ...search,
      },
    } as unknown as ToolSet;
    const model = scriptedModel([...order, { tool: "search" }], "Never said.");
    const doGenerate = model.doGenerate.bind(model);
    model.doGenerate = async (call) => {
      const said = await doGenerate(call);
      const content = said.content.map((part) =>
        part.type === "tool-call" && part.toolName === "search"
          ? { ...part, providerExecuted: true }
          : part,
      );
      return { ...said, content };
    };
    const run = { model, prompt: "Order tea.", tools: searching };
    const { steps } = await ai.generateText({ ...run, ...inTen });
    expect(steps.map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "other"]);
  });

  test("no file of the messages is downloaded for it", async () => {
    const { tools } = shopTools();
    const picture = new URL("https://pictures.test/tea.png");
    const user: ModelMessage = {
      role: "user",
      content: [{ type: "file", data: picture, mediaType: "image/png" }],
    };
    const supportedUrls = { value: { "image/*": [/^https:/] } };
    const model = Object.defineProperties(scriptedModel(order), { supportedUrls });
    const supported: boolean[] = [];
    const download = async (files: { isUrlSupportedByModel: boolean }[]) => {
      supported.push(...files.map(({ isUrlSupportedByModel }) => isUrlSupportedByModel));
      return files.map(() => null);
    };
    await ai.generateText({
      ...{ model, tools, messages: [user] },
      ...{ experimental_download: download, ...inTen },
    });
    expect(supported).toEqual([true, true]);
  });
});

test("what a user says while a call begins to wait is not lost with AI SDK 7", async () => {
  const steering = experimental_createSteering();
  const { tools } = shopTools({
    execute: () => {
      void steering.steer("And milk.");
      return waitingResult("wait-1");
    },
  });
  const { model, ...ordered } = ordering();
  const run = { ...ordered, model, tools, experimental_steering: steering, ...inTen };
  const stream = streamText(run).toUIMessageStream().pipeThrough(tellSilentStep([]));
  const parts: UIMessage["parts"] = [];
  for await (const message of readUIMessageStream({ stream })) {
    parts.splice(0, parts.length, ...message.parts);
  }
  expect(model.doStreamCalls).toHaveLength(2);
  const types = parts.slice(-3).map(({ type }) => type);
  expect(types).toEqual(["steering-message", "step-start", "text"]);
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
