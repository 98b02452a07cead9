import { tool, type ToolSet } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { bindTools } from "./bind-tools.ts";
import { currentScope, enterScope, type RunScope } from "../../../sessions/src/run/run-scope.ts";

const scope = {
  enter: <T>(use: () => T) => enterScope(scope, use),
} as unknown as RunScope;
const inputSchema = z.object({});
const call = (bound: unknown) => (bound as (...args: unknown[]) => any)({}, { toolCallId: "1" });

/** A tool with parts, and what it saw of the scope, and of its end. */
function startParts(fail = false) {
  const seen: (boolean | string)[] = [];
  const look = () => seen.push(currentScope() === scope);
  const iterator: AsyncIterator<number> = {
    next: async () => {
      look();
      if (fail) throw new Error("The tool broke.");
      return seen.length < 3 ? { done: false, value: seen.length } : { done: true, value: 0 };
    },
    return: async () => {
      look();
      seen.push("returned");
      return { done: true, value: 0 };
    },
  };
  const iterable = { [Symbol.asyncIterator]: () => (look(), iterator) };
  const { parts } = bindTools(scope, {
    parts: tool({ inputSchema, execute: () => iterable as AsyncIterable<number> }),
  });
  return { seen, parts: call(parts.execute) as AsyncIterable<number> };
}

describe("bound tools", () => {
  test("find the run wherever they are called", async () => {
    const { look } = bindTools(scope, {
      look: tool({
        inputSchema,
        execute: async () => {
          await Promise.resolve();
          return currentScope() === scope;
        },
      }),
    });
    expect(await call(look.execute)).toBe(true);
    expect(currentScope()).toBeUndefined();
  });

  test("keep all else, and those without code are as they were", () => {
    const tools: ToolSet = {
      plain: { description: "For the client.", inputSchema },
      own: tool({ description: "Own.", inputSchema, execute: () => 1 }),
    };
    const bound = bindTools(scope, tools);
    expect(bound["plain"]).toBe(tools["plain"]);
    expect(bound["own"]).toMatchObject({ description: "Own.", inputSchema });
  });

  test("with parts that are read to the end are not told to stop", async () => {
    const { seen, parts } = startParts();
    const read: number[] = [];
    for await (const part of parts) read.push(part);
    expect(read).toEqual([2]);
    expect(seen).toEqual([true, true, true]);
  });

  test("with parts whose reader stops early are told so, in the run", async () => {
    const { seen, parts } = startParts();
    for await (const _ of parts) break;
    expect(seen).toEqual([true, true, true, "returned"]);
  });

  test("with parts that break are not told to stop, and break as they did", async () => {
    const { seen, parts } = startParts(true);
    const read = async () => {
      for await (const _ of parts);
    };
    await expect(read()).rejects.toThrow("The tool broke.");
    expect(seen).toEqual([true, true]);
  });
});
