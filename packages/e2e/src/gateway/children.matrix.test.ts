import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { defineMcpStdioConnection } from "@durable-mcp/ai-sdk/stdio";
import { createMemoryStore } from "@durable-mcp/core";
import { createGateway } from "@durable-mcp/gateway";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect, onTestFinished, test } from "vitest";
import { randomFromSeed } from "../replicas/random-from-seed.ts";
import { stdioFixture } from "../stdio/stdio-fixture.ts";
import { startGateway } from "./gateway-process.ts";

/** So many sessions, of which so many live at once. */
const [sessions, atOnce] = [200, 4];

const running = (marker: string) =>
  execFileSync("ps", ["-eo", "args"], { encoding: "utf8", maxBuffer: 1e8 })
    .split("\n")
    .filter((line) => line.includes(marker)).length;

test.skipIf(process.platform !== "linux")(
  "of 200 sessions whose programs and clients die at random no process is left",
  async () => {
    const { marker, command, args } = stdioFixture();
    const gateway = await startGateway({ fixture: { command, args } });
    onTestFinished(() => gateway.stop());
    const [served] = gateway.processes;
    const url = new URL(served!.urlOf("fixture"));
    const random = randomFromSeed(Number(process.env["SEED"] ?? 1));
    const unended: string[] = [];
    /** The first results of processes that took the place of killed ones. */
    const again: string[] = [];

    const play = async (): Promise<void> => {
      const transport = new StreamableHTTPClientTransport(url);
      const client = new Client({ name: "unchanged", version: "1.0.0" });
      await client.connect(transport);
      const use = async (name: string, given: object = {}) => {
        const { content } = await client.callTool({ name, arguments: { ...given } });
        return (content as { text: string }[])[0]!.text;
      };
      expect(await use("add_note", { text: "one" })).toBe("1");
      const dice = random();
      if (dice < 0.3) await use("start_traceable_processes");
      if (dice < 0.5) {
        process.kill(Number(await use("pid")), "SIGKILL");
        await new Promise((resolve) => setTimeout(resolve, 300));
        const result = await use("add_note", { text: "again" });
        // The gateway may learn of the end by this call.
        again.push(/unknown/.test(result) ? await use("add_note", { text: "again" }) : result);
      }
      if (dice > 0.25 && dice < 0.75) await transport.terminateSession();
      else unended.push(transport.sessionId!);
      await client.close();
    };
    let begun = 0;
    const playOn = async () => {
      while (begun < sessions) {
        begun += 1;
        await play();
      }
    };
    await Promise.all(Array.from({ length: atOnce }, playOn));
    await Promise.all(
      unended.map((id) => fetch(url, { method: "DELETE", headers: { "mcp-session-id": id } })),
    );
    await expect.poll(() => running(marker), { timeout: 30_000 }).toBe(0);
    expect(new Set(again)).toEqual(new Set(["1"]));
  },
  900_000,
);

test.skipIf(process.platform !== "linux")(
  "no process is left when the gateway's is killed",
  async () => {
    const { marker, command, args } = stdioFixture(randomUUID());
    const gateway = await startGateway({ fixture: { command, args } });
    onTestFinished(() => gateway.stop());
    const [served] = gateway.processes;
    const begin = async () => {
      const client = new Client({ name: "unchanged", version: "1.0.0" });
      await client.connect(new StreamableHTTPClientTransport(new URL(served!.urlOf("fixture"))));
      await client.callTool({ name: "start_traceable_processes", arguments: {} });
    };
    await Promise.all(Array.from({ length: 8 }, begin));
    expect(running(marker)).toBeGreaterThan(16);
    // Others start as it is killed.
    const starting = Promise.allSettled(Array.from({ length: 4 }, begin));
    await new Promise((resolve) => setTimeout(resolve, 100));
    served!.killAtOnce();
    await starting;
    await expect.poll(() => running(marker), { timeout: 30_000 }).toBe(0);
  },
  120_000,
);

test("a session whose program has died and has ended leaves no memory", async () => {
  const { command, args } = stdioFixture();
  const fixture = defineMcpStdioConnection({ command, args, description: "A fixture." });
  const gateway = createGateway({
    ...{ connections: { fixture }, store: createMemoryStore(), processes: "one" },
    principal: () => ({ type: "app" }),
    onEvent: () => undefined,
  });
  onTestFinished(() => gateway.shutdown());
  const url = new URL("http://localhost/mcp/fixture");
  const direct: typeof fetch = async (input, init) => await gateway.fetch(new Request(input, init));
  const play = async () => {
    const transport = new StreamableHTTPClientTransport(url, { fetch: direct });
    const client = new Client({ name: "unchanged", version: "1.0.0" });
    await client.connect(transport);
    await client.callTool({ name: "die", arguments: { code: 1 } });
    await client.callTool({ name: "list_notes", arguments: {} });
    await transport.terminateSession();
    await client.close();
  };
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const usedAfter = async (count: number) => {
    for (let left = count; left > 0; left -= atOnce)
      await Promise.all(Array.from({ length: atOnce }, play));
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    collect();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const before = await usedAfter(20);
  const after = await usedAfter(40);
  expect((after - before) / 40).toBeLessThan(40_000);
}, 300_000);
