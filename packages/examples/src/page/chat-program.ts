/**
 * One process of a chat: its route, over an agent with a scripted model.
 *
 *     node chat-program.ts <port> <path of the store> <URL of the tea house>
 */
import { setTimeout as sleep } from "node:timers/promises";
import {
  createChatRoute,
  createDurableAgent,
  defineMcpClientConnection,
} from "@durable-mcp/ai-sdk";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import { serve } from "@hono/node-server";
import { createScriptedModel } from "../steps/scripted-model.ts";

const [port, path = "", url = ""] = process.argv.slice(2);
const story = Array.from({ length: 30 }, (_, index) => `word${index}`).join(" ");

const scripted = createScriptedModel((prompt) => {
  if (prompt.startsWith("Tell")) return { prompt, calls: [], answer: () => story };
  const tool = prompt.startsWith("Brew") ? "brew" : "order";
  const calls = [{ tool, input: { item: prompt } }];
  return { prompt, calls, answer: (results) => results.join(" ") };
});

const model: typeof scripted = {
  ...scripted,
  async doStream(options) {
    const { content, finishReason, usage } = await scripted.doGenerate(options);
    const [part] = content;
    const said = JSON.stringify(options.prompt.findLast(({ role }) => role === "user")?.content);
    // The tea house keeps account of what is asked.
    await fetch(new URL("/asked", url), { method: "POST", body: said });
    async function* speak() {
      yield { type: "stream-start" as const, warnings: [] };
      if (part?.type === "tool-call") yield part;
      if (part?.type === "text") {
        yield { type: "text-start" as const, id: "1" };
        for (const delta of part.text.split(/(?<= )/)) {
          await sleep(60);
          yield { type: "text-delta" as const, id: "1", delta };
        }
        yield { type: "text-end" as const, id: "1" };
      }
      yield { type: "finish" as const, finishReason, usage };
    }
    const parts = speak();
    const stream = new ReadableStream({
      async pull(controller) {
        const { done, value } = await parts.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
    });
    return { stream };
  },
};

const tea = defineMcpClientConnection({ url, description: "A tea house.", waiting: true });
const route = createChatRoute({
  agent: createDurableAgent({
    ...{ connections: { tea }, store: createSqliteStore({ path }), model },
  }),
  principal: () => ({ type: "user", issuer: "https://tea.example", id: "ann" }),
  aliveMs: 1_500,
});

serve({
  ...{ port: Number(port), hostname: "127.0.0.1" },
  fetch: (request) => (request.method === "POST" ? route.POST(request) : route.GET(request)),
});
