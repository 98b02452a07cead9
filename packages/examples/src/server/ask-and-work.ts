import { setTimeout as wait } from "node:timers/promises";
import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createMemoryStore } from "@durable-mcp/core";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { Replica, Replicas } from "./replicas.ts";

/** What became of a question and of a task whose replicas were killed. */
export interface LastingCalls {
  /** How often the client was asked. */
  readonly asked: number;
  /** What it got after its answer. */
  readonly answered: string;
  /** How the task ended. */
  readonly task: string | undefined;
}

const headers = { authorization: "Bearer of-ada" };
const principal = { type: "user", issuer: "https://idp.example", id: "ada" } as const;
/** A task of a few seconds is looked at so long. */
const maxLooks = 30;

/** Asks, and works, at replicas that are killed meanwhile. @param replace kills a replica and starts another one */
export async function askAndWork(
  { url, begun }: Pick<Replicas, "url" | "begun">,
  replace: (replica: Replica, meanwhile: string) => Promise<void>,
): Promise<LastingCalls> {
  let asked = 0;
  const client = new Client(
    { name: "demo", version: "1.0.0" },
    { capabilities: { elicitation: {} } },
  );
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  const asker = begun(1);
  client.setRequestHandler("elicitation/create", async () => {
    asked += 1;
    await replace(await asker, "has asked a person");
    return { action: "accept", content: { ok: true } };
  });
  const { content } = await client.callTool({ name: "check_out", arguments: {} });
  await client.close();

  const cart = defineMcpClientConnection({
    ...{ url, description: "A cart.", headers, session: "stateless" },
    waiting: { afterMs: 500 },
  });
  const sessions = createDurableSessions({ connections: { cart }, store: createMemoryStore() });
  const worker = begun(1);
  await sessions.run("chat", { principal }, (run) => run.call("cart", "deliver", {}));
  await replace(await worker, "works on a task");
  let task: string | undefined;
  for (let looks = 0; looks < maxLooks && task !== "settled"; looks += 1) {
    await wait(500);
    const [call] = await sessions.check("chat", { principal });
    task = call?.state ?? task;
  }
  return { asked, answered: (content as { text: string }[])[0]?.text ?? "", task };
}
