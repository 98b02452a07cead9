import { OpenTelemetry } from "@ai-sdk/otel";
import { SpanStatusCode, trace } from "@opentelemetry/api";
import {
  experimental_createSteering,
  type ModelMessage,
  readUIMessageStream,
  streamText,
  type ToolSet,
  type UIMessage,
} from "ai";
import { beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { collectSpans } from "../../test/collect-spans.ts";
import { majors, modelOfBoth, shopTools, waitingResult } from "../../test/waiting-tool.ts";
import { tellSilentStep } from "./ui-chunks.ts";
import { stopWhenWaiting } from "./stop-when-waiting.ts";

const { spans, reset } = collectSpans();
beforeEach(reset);

const order = [{ tool: "shop__order", input: { item: "tea" } }];
const stopped = stopWhenWaiting({ stopWhen: ({ steps }) => steps.length === 10 });

const settings = () => ({ model: modelOfBoth(order, "Never said."), prompt: "Order tea." });

describe.each(majors)("AI SDK $major", ({ ai, major }) => {
  test("a structured output is not read in no text, and there is none", async () => {
    const output = ai.Output.object({ schema: z.object({ total: z.number() }) });
    const structured = { ...settings(), tools: shopTools().tools, output, ...stopped };
    const generated = await ai.generateText(structured);
    expect(generated.finishReason).toBe("other");
    expect(() => generated.output).toThrow("No output generated");

    const streamed = ai.streamText({ ...structured, ...settings() });
    expect(await streamed.finishReason).toBe("other");
    await expect(streamed.output).rejects.toThrow("No object generated");
  });

  test("no span fails, and the silent step has one of its own", async () => {
    const tracer = trace.getTracer("ai");
    const telemetry =
      major === 6
        ? { experimental_telemetry: { isEnabled: true, tracer } }
        : { telemetry: { integrations: new OpenTelemetry() } };
    const { tools } = shopTools();
    await ai.generateText({ ...settings(), tools, ...telemetry, ...stopped });
    await ai.streamText({ ...settings(), tools, ...telemetry, ...stopped }).consumeStream();
    const silent = spans().filter((span) =>
      Object.values(span.attributes).includes("durable-mcp/waiting"),
    );
    expect(silent.length).toBeGreaterThanOrEqual(2);
    expect(spans().filter(({ status }) => status.code === SpanStatusCode.ERROR)).toEqual([]);
    expect(
      spans().flatMap(({ events }) => events.filter(({ name }) => name === "exception")),
    ).toEqual([]);
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
    const model = modelOfBoth([...order, { tool: "search" }], "Never said.");
    const { doGenerate } = model;
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
    const { steps } = await ai.generateText({ ...run, ...stopped });
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
    const model = Object.defineProperties(modelOfBoth(order), { supportedUrls });
    const supported: boolean[] = [];
    const download = async (files: { isUrlSupportedByModel: boolean }[]) => {
      supported.push(...files.map(({ isUrlSupportedByModel }) => isUrlSupportedByModel));
      return files.map(() => null);
    };
    await ai.generateText({
      ...{ model, tools, messages: [user] },
      ...{ experimental_download: download, ...stopped },
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
  const { model, prompt } = settings();
  const run = { model, prompt, tools, experimental_steering: steering, ...stopped };
  const stream = streamText(run).toUIMessageStream().pipeThrough(tellSilentStep([]));
  const parts: UIMessage["parts"] = [];
  for await (const message of readUIMessageStream({ stream })) {
    parts.splice(0, parts.length, ...message.parts);
  }
  expect(model.doStreamCalls).toHaveLength(1);
  expect(parts.slice(-2).map(({ type }) => type)).toEqual(["steering-message", "step-start"]);
});
