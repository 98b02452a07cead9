import { createFaultyProxy } from "@durable-mcp/testing";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect, onTestFinished, test } from "vitest";
import { startNotebookServer } from "../servers/notebook.ts";
import { balanced, startGateway } from "./gateway-process.ts";

const calls = 500;

test("two clients at once under one name, 1,000 calls over two processes, one of which is killed, and a server that restarts: nothing is crossed, each is told once", async () => {
  const server = await startNotebookServer();
  onTestFinished(() => server.stop());
  const proxy = await createFaultyProxy({ target: server.url });
  onTestFinished(() => proxy.close());
  const gateway = await startGateway({ notebook: proxy.url }, { processes: 2 });
  onTestFinished(() => gateway.stop());
  const url = new URL(`${gateway.processes[0]!.urlOf("notebook")}@work`);
  const initializes = () =>
    proxy.requests.filter(({ rpcMethod }) => rpcMethod === "initialize").length;

  const play = async (name: string) => {
    const client = new Client({ name, version: "1.0.0" });
    await client.connect(
      new StreamableHTTPClientTransport(url, { fetch: balanced(gateway.processes) }),
    );
    onTestFinished(() => client.close());
    const seen = { crossed: 0, told: 0, unknown: 0 };
    const work = async (from: number, to: number) => {
      for (let n = from; n < to; n += 1) {
        const text = `${name} ${n}`;
        const given = { name: "slow_echo", arguments: { text, delayMs: 0 } };
        const result = JSON.stringify(await client.callTool(given));
        if (result.includes("is unknown")) seen.unknown += 1;
        else if (!result.includes(`${text}"`)) seen.crossed += 1;
        if (result.includes("had forgotten")) seen.told += 1;
      }
    };
    return { seen, work };
  };
  const clients = await Promise.all([play("ann"), play("ben")]);
  const both = async (from: number, to: number) =>
    await Promise.all(clients.map(({ work }) => work(from, to)));
  await both(0, calls / 2);
  expect(initializes()).toBe(1);
  proxy.forgetSessions({ dialect: "not-found" });
  await both(calls / 2, (calls / 4) * 3);
  expect(initializes()).toBeLessThan(5);
  await Promise.all([both((calls / 4) * 3, calls), gateway.processes[1]!.restart()]);
  for (const { seen } of clients) {
    expect(seen).toMatchObject({ crossed: 0, told: 1 });
    // The call that the killed process held.
    expect(seen.unknown).toBeLessThan(2);
  }
}, 300_000);
