import {
  generateText,
  hasToolCall,
  isStepCount,
  type ModelMessage,
  Output,
  type PrepareStepFunction,
  type StopCondition,
  streamText,
  tool,
  ToolLoopAgent,
} from "ai";
import * as ai6 from "ai-6";
import { MockLanguageModelV3 } from "ai-6/test";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import { stopWhenWaiting } from "./stop-when-waiting.ts";

const price = { inputSchema: z.object({ item: z.string() }), execute: () => ({ euros: 30 }) };
const tools = { price: tool(price) };
const tools6 = { price: ai6.tool(price) };
const run = { model: new MockLanguageModelV3(), prompt: "What does tea cost?" };
const inSteps = stopWhenWaiting({ stopWhen: isStepCount(10) });

test("spread into the settings of AI SDK 7, it keeps the types of tools and output", () => {
  const output = Output.object({ schema: z.object({ total: z.number() }) });
  const generated = () => generateText({ ...run, tools, output, ...inSteps });
  type Result = Awaited<ReturnType<typeof generated>>;
  expectTypeOf<Result["staticToolCalls"][number]["toolName"]>().toEqualTypeOf<"price">();
  expectTypeOf<Result["output"]>().toEqualTypeOf<{ total: number }>();
  void (() => streamText({ ...run, tools, ...inSteps }));
  void (() => generateText({ ...run, ...stopWhenWaiting() }));
  const agent = new ToolLoopAgent({ ...run, tools, ...inSteps });
  expectTypeOf(agent.tools).toEqualTypeOf<typeof tools>();
});

test("spread into the settings of AI SDK 7, it leaves contexts alone", () => {
  const inContext = {
    price: tool({ ...price, contextSchema: z.object({ currency: z.string() }) }),
  };
  const contexts = {
    toolsContext: { price: { currency: "EUR" } },
    runtimeContext: { tenant: "a" },
  };
  const agent = new ToolLoopAgent({ ...run, tools: inContext, ...contexts, ...inSteps });
  expectTypeOf(agent.tools).toEqualTypeOf<typeof inContext>();
});

test("spread into the settings of AI SDK 6, it keeps the types of tools", () => {
  const own = stopWhenWaiting({ stopWhen: [ai6.stepCountIs(10), ai6.hasToolCall("price")] });
  const generated = () => ai6.generateText({ ...run, tools: tools6, ...own });
  type Call = Awaited<ReturnType<typeof generated>>["staticToolCalls"][number];
  expectTypeOf<Call["toolName"]>().toEqualTypeOf<"price">();
  void (() => ai6.streamText({ ...run, tools: tools6, ...own }));
  void (() => ai6.generateText({ ...run, ...stopWhenWaiting() }));
  const agent = new ai6.ToolLoopAgent({ ...run, tools: tools6, ...own });
  expectTypeOf(agent.tools).toEqualTypeOf<typeof tools6>();
});

test("takes conditions and functions of known tools and contexts", () => {
  interface Tenant extends Record<string, unknown> {
    tenant: string;
  }
  type Options = NonNullable<Parameters<typeof stopWhenWaiting>[0]>;
  type Condition = StopCondition<typeof tools, Tenant>;
  expectTypeOf<Condition>().toExtend<Options["stopWhen"]>();
  expectTypeOf<Condition[]>().toExtend<Options["stopWhen"]>();
  expectTypeOf<PrepareStepFunction<typeof tools, Tenant>>().toExtend<Options["prepareStep"]>();
  void (() => stopWhenWaiting({ stopWhen: [isStepCount(3), hasToolCall("price")] }));
});

test("knows the parameters and the results of the application's own functions", () => {
  void (() =>
    stopWhenWaiting({
      stopWhen: ({ steps }) => steps.length > 3,
      prepareStep: ({ messages, stepNumber }) => {
        expectTypeOf(messages).toEqualTypeOf<ModelMessage[]>();
        expectTypeOf(stepNumber).toEqualTypeOf<number>();
        return { temperature: 0 };
      },
    }));
  // @ts-expect-error there is no such option
  void (() => stopWhenWaiting({ stopwhen: isStepCount(10) }));
  // @ts-expect-error no condition
  void (() => stopWhenWaiting({ stopWhen: 10 }));
  // @ts-expect-error there is no such setting of a step
  void (() => stopWhenWaiting({ prepareStep: () => ({ temprature: 0 }) }));
});
