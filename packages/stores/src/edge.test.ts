import { fileURLToPath } from "node:url";
import { createContext, runInContext } from "node:vm";
import type { StoredValue } from "@durable-mcp/core";
import { rolldown } from "rolldown";
import { expect, test } from "vitest";

/** An entry of this package and what it needs, without packages of others, and Node's modules. */
async function bundle(entry: string) {
  const made = await rolldown({
    input: fileURLToPath(new URL(`${entry}.ts`, import.meta.url)),
    platform: "neutral",
    resolve: { conditionNames: ["@durable-mcp/source"] },
    external: /^(node:|@aws-sdk)/,
    logLevel: "silent",
  });
  const { output } = await made.generate({ format: "iife", name: entry });
  return output[0];
}

test("the Upstash store needs nothing of Node", async () => {
  const { code, imports } = await bundle("upstash");
  expect(imports).toEqual([]);
  // On the edge there are these, and timers are numbers.
  const timers = {
    setTimeout: (...args: [() => void]) => Number(setTimeout(...args)),
    clearTimeout,
  };
  const web = { AbortController, crypto, performance, Request, TextEncoder, URL, ...timers };
  const edge = createContext({
    ...web,
    fetch: async () => Response.json({ result: [["1", "r"]] }),
  });
  runInContext(code, edge);
  const program = `upstash.createUpstashStore({ url: "https://x.upstash.io", token: "t" }).get("k")`;
  const stored = await (runInContext(program, edge) as Promise<StoredValue>);
  expect(stored.value).toBe(1);
});

test.each([
  ["dynamodb", ["@aws-sdk/client-dynamodb"]],
  ["redis", []],
])("the entry %s imports no module of Node", async (entry, needed) => {
  expect((await bundle(entry)).imports).toEqual(needed);
});
