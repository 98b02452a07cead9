import { fileURLToPath } from "node:url";
import { build } from "rolldown";
import { expect, test } from "vitest";

/** All modules that an entry loads, ours and others. @param external what is none of its modules */
async function modulesOf(entry: string, external: RegExp[] = []): Promise<string[]> {
  const { output } = await build({
    input: fileURLToPath(import.meta.resolve(entry)),
    external: [/^node:/, ...external],
    platform: "node",
    resolve: { conditionNames: ["@durable-mcp/source", "import"] },
    write: false,
    logLevel: "silent",
  });
  return output.flatMap((part) =>
    part.type === "chunk" ? [...part.moduleIds, ...part.imports] : [],
  );
}

const isOpenTelemetry = (module: string) => module.includes("@opentelemetry");

test("the main entry needs no @opentelemetry/api, an optional peer", async () => {
  const modules = await modulesOf("@durable-mcp/ai-sdk");
  expect(modules.filter(isOpenTelemetry)).toEqual([]);
  expect(modules.filter((module) => module.includes("/sessions/src/")).length).toBeGreaterThan(50);
});

test("nor does the entry for stdio", async () => {
  expect((await modulesOf("@durable-mcp/ai-sdk/stdio")).filter(isOpenTelemetry)).toEqual([]);
});

test("only the entry for OpenTelemetry does", async () => {
  const modules = await modulesOf("@durable-mcp/ai-sdk/opentelemetry");
  expect(modules.filter(isOpenTelemetry)).not.toEqual([]);
});

test.each([
  "sessions/src/index",
  "sessions/src/stdio",
  "langchain/src/index",
  "langchain/src/stdio",
  "openai-agents/src/index",
])("%s loads nothing of AI SDK", async (entry) => {
  const modules = await modulesOf(`../../../${entry}.ts`, [/^(@langchain\/|langchain|@openai\/)/]);
  expect(modules.filter((module) => module.includes("/sessions/src/")).length).toBeGreaterThan(20);
  const isAiSdk = /node_modules\/(ai|@ai-sdk\/[^/]+)\/|\/packages\/ai-sdk\/|^(ai|@ai-sdk\/.*)$/;
  expect(modules.filter((module) => isAiSdk.test(module))).toEqual([]);
});
