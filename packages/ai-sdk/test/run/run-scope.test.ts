import { EventEmitter } from "node:events";
import { setImmediate as immediate, setTimeout as wait } from "node:timers/promises";
import { createMemoryStore } from "@durable-mcp/core";
import { generateText, isStepCount, streamText, tool, ToolLoopAgent, type ToolSet } from "ai";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { startRuns, textOf } from "../run.ts";
import { scriptedModel, toolResults } from "@durable-mcp/testing/ai-sdk";
import { alice } from "../step.ts";
import { createDurableAgent } from "../../src/agent/durable-agent.ts";
import { createDurableSessions, currentConnections, withConnections } from "../../src/index.ts";
import { currentScope } from "../../../sessions/src/run/run-scope.ts";

const prompt = "Go on.";
const stopWhen = isStepCount(5);
const inputSchema = z.object({});

/** A tool that says whether its code finds a run. */
const looking = (isRight: (registry: unknown) => boolean) =>
  tool({
    description: "Looks.",
    inputSchema,
    execute: async () => {
      await immediate();
      return isRight(currentConnections()) ? "found" : "another";
    },
  });

describe("code inside of a run finds it", () => {
  const loops: Record<string, (model: any, tools: ToolSet) => PromiseLike<unknown>> = {
    generateText: (model, tools) => generateText({ model, tools, prompt, stopWhen }),
    streamText: (model, tools) =>
      Promise.resolve(streamText({ model, tools, prompt, stopWhen }).text),
    "ToolLoopAgent.generate": (model, tools) =>
      new ToolLoopAgent({ model, tools, stopWhen }).generate({ prompt }),
    "ToolLoopAgent.stream": async (model, tools) => {
      const agent = new ToolLoopAgent({ model, tools, stopWhen });
      return await (
        await agent.stream({ prompt })
      ).text;
    },
  };
  test.each(Object.keys(loops))("by a tool of %s", async (loop) => {
    const { create } = await startRuns();
    const model = scriptedModel([{ tool: "look" }, { tool: "look" }], [{ tool: "look" }], "Done.");
    await create().enter(async (registry) => {
      await loops[loop]!(model, { look: looking((found) => found === registry) });
    });
    expect(toolResults(model)).toEqual(["text: found", "text: found", "text: found"]);
  });

  test("by a tool of a sub-agent in a tool", async () => {
    const { create } = await startRuns();
    const inner = scriptedModel([{ tool: "look" }], "Done.");
    await create().enter(async (registry) => {
      const delegate = tool({
        description: "Delegates.",
        inputSchema,
        async execute() {
          const tools = { look: looking((found) => found === registry) };
          return (await new ToolLoopAgent({ model: inner, tools }).generate({ prompt })).text;
        },
      });
      const model = scriptedModel([{ tool: "delegate" }], "Done.");
      await new ToolLoopAgent({ model, tools: { delegate } }).generate({ prompt });
    });
    expect(toolResults(inner)).toEqual(["text: found"]);
  });

  const places: Record<string, (find: () => unknown) => unknown> = {
    "in branches of Promise.all": async (find) => {
      const found = await Promise.all([wait(2).then(find), immediate().then(find), find()]);
      expect(new Set(found).size).toBe(1);
      return found[0];
    },
    "in a timer": (find) =>
      new Promise((resolve) => {
        setTimeout(() => resolve(find()), 1);
      }),
    "in the listener of an emitter that the run triggers": async (find) => {
      const emitter = new EventEmitter();
      const found = new Promise((resolve) => {
        emitter.on("go", () => resolve(find()));
      });
      setTimeout(() => emitter.emit("go"), 1);
      return await found;
    },
    "in a stream that is read later in the run": async (find) => {
      const stream = new ReadableStream<unknown>(
        { pull: (controller) => (controller.enqueue(find()), controller.close()) },
        { highWaterMark: 0 },
      );
      await wait(1);
      return (await stream.getReader().read()).value;
    },
    "in an async generator": async (find) => {
      async function* generate() {
        await wait(1);
        yield find();
      }
      for await (const found of generate()) return found;
      return undefined;
    },
    "in a callback of fetch": async (find) =>
      await fetch("data:,x")
        .then((response) => response.text())
        .then(find),
    "in what runs inside it": (find) => currentConnections().enter(() => find()),
  };
  test.each(Object.keys(places))("%s", async (place) => {
    const { create } = await startRuns();
    const registries = [create(), create()];
    // Two at once: each finds its own.
    const found = registries.map((registry) =>
      registry.enter(() => places[place]!(currentConnections)),
    );
    expect(await Promise.all(found)).toEqual(registries);
    for (const [index, registry] of registries.entries()) {
      expect(await found[index]).toBe(registry);
    }
  });
});

async function startAgent(tools: ToolSet, ...turns: Parameters<typeof scriptedModel>) {
  const { provider, cart } = await startRuns();
  const sessions = createDurableSessions({ provider, store: createMemoryStore() });
  const model = scriptedModel(...turns);
  return { agent: createDurableAgent({ sessions, model, tools }), model, cart };
}
describe("a durable agent's own tools find the session's run", () => {
  const options = { sessionId: "chat-1", principal: alice };
  const note = tool({
    description: "Notes something.",
    inputSchema,
    execute: async () => textOf(await currentConnections().call("cart", "add_note", { text: "a" })),
  });

  test("when it generates", async () => {
    const { agent, model, cart } = await startAgent({ note }, [{ tool: "note" }], "Done.");
    await agent.generate({ prompt, options });
    expect(toolResults(model)).toEqual(["text: 1 notes"]);
    expect(cart.sessionIds).toHaveLength(1);
  });

  test("when its stream is read outside of any run, to the last step", async () => {
    const seen: string[] = [];
    const look = tool({
      description: "Looks.",
      inputSchema,
      execute: async () => {
        seen.push((await currentConnections().call("cart", "list_notes")).isError ? "error" : "ok");
        return "ok";
      },
    });
    const { agent, cart } = await startAgent(
      { look },
      [{ tool: "look" }],
      [{ tool: "look" }],
      "Done.",
    );
    const result = await agent.stream({ prompt, options });
    expect(() => currentConnections()).toThrow(/outside of a run/);
    await wait(5);
    for await (const part of result.fullStream) if (part.type === "error") throw part.error;
    expect(seen).toEqual(["ok", "ok"]);
    expect(cart.sessionIds).toHaveLength(1);
  });

  test("also to nest a run with a session of its own", async () => {
    const nest = tool({
      description: "Nests.",
      inputSchema,
      execute: () =>
        withConnections({ cart: "isolate" }, async (registry) => {
          await registry.call("cart", "add_note", { text: "own" });
          return "nested";
        }),
    });
    const { agent, model, cart } = await startAgent({ nest }, [{ tool: "nest" }], "Done.");
    const result = await agent.stream({ prompt, options });
    await result.consumeStream();
    expect(toolResults(model)).toEqual(["text: nested"]);
    expect(cart.sessionIds).toHaveLength(2);
    expect(cart.liveSessions()).toBe(1);
  });
});

describe("outside of a run", () => {
  const required = { code: "RUN_REQUIRED" };

  test("currentConnections and withConnections say so", async () => {
    expect(() => currentConnections()).toThrow(expect.objectContaining(required));
    await expect(withConnections({}, () => 1)).rejects.toMatchObject(required);
  });

  test("also beside one, before it and after it", async () => {
    const { create } = await startRuns();
    const go = Promise.withResolvers<void>();
    const inside = create().enter(() => go.promise);
    expect(() => currentConnections()).toThrow(expect.objectContaining(required));
    go.resolve();
    await inside;
    expect(() => currentConnections()).toThrow(expect.objectContaining(required));
  });
});

test("another copy of the package finds the same run", async () => {
  const { create } = await startRuns();
  const { pathname } = new URL("../../../sessions/src/run/run-scope.ts", import.meta.url);
  const copyName = `/@fs${pathname}?copy=${Date.now()}`;
  const copy = (await import(copyName)) as typeof import("../../../sessions/src/run/run-scope.ts");
  expect(copy.currentScope).not.toBe(currentScope);
  const registry = create();
  expect(await registry.enter(() => copy.currentScope()?.run)).toBe(registry);
});

test("without AsyncLocalStorage runs run, and what looks for one is told why", async () => {
  const { create } = await startRuns();
  const key = Symbol.for("durable-mcp.runScopes");
  const holder = globalThis as { [key]?: unknown };
  const kept = holder[key];
  delete holder[key];
  const builtins = vi.spyOn(process, "getBuiltinModule").mockReturnValue(undefined);
  try {
    expect(await create().enter((registry) => registry.connections.length)).toBe(3);
    await expect(create().enter(() => currentConnections())).rejects.toMatchObject({
      code: "RUN_REQUIRED",
      message: expect.stringContaining("no AsyncLocalStorage"),
    });
  } finally {
    builtins.mockRestore();
    holder[key] = kept;
  }
});

test("the tools of currentConnections are those of the run around", async () => {
  const { create } = await startRuns();
  const names = await create().enter(async () => Object.keys(await currentConnections().tools()));
  expect(names).toContain("cart__add_note");
  expect(names).toContain("plain__add_note");
});
