import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { processesWith } from "../processes/marked-processes.ts";
import { programArguments } from "../processes/programs.ts";
import type { RunScopeProgramInput, RunScopeProgramOutput } from "./run-scope-program.ts";
import { type NotebookServer, startNotebookServer } from "../servers/notebook.ts";
import { processCount, stdioFixture } from "../stdio/stdio-fixture.ts";

const program = new URL("./run-scope-program.ts", import.meta.url);
const principal = { type: "app" } as const;
let server: NotebookServer;
let folder: string;
let child: ChildProcess | undefined;

beforeAll(async () => {
  server = await startNotebookServer();
  folder = mkdtempSync(join(tmpdir(), "durable-mcp-run-scopes-"));
});
afterEach(() => void child?.kill("SIGKILL"));
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

/** Starts the program on a new store and reads the lines that it prints. */
function startProgram(ending: RunScopeProgramInput["ending"], manner = "") {
  const { marker, ...stdio } = stdioFixture(manner);
  const storePath = join(folder, `${marker}.sqlite`);
  const { url } = server;
  const input: RunScopeProgramInput = { url, storePath, stdio, ending };
  const started = spawn(process.execPath, programArguments(program), {
    // Not in the arguments, where the marker would be found.
    env: { ...process.env, RUN_SCOPE_PROGRAM: JSON.stringify(input), NODE_NO_WARNINGS: "1" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  child = started;
  const lines = createInterface(started.stdout)[Symbol.asyncIterator]();
  return {
    marker,
    storePath,
    child: started,
    nextLine: async () => String((await lines.next()).value),
    exited: once(started, "exit"),
  };
}

/** Until nothing with the marker is there; what ends it is no child of this process. */
const untilNothingIsLeft = (marker: string) =>
  vi.waitFor(() => expect(processesWith(marker)).toEqual([]), { timeout: 20_000, interval: 50 });

/** The notes of the cart that the store's next process finds. */
async function cartOf(storePath: string): Promise<string> {
  const { url } = server;
  const store = createSqliteStore({ path: storePath });
  const sessions = createDurableSessions({
    connections: {
      cart: defineMcpClientConnection({ url, description: "The cart.", session: "stateful" }),
    },
    store,
  });
  try {
    const result = await sessions.run("agent-session", { principal }, (run) =>
      run.call("cart", "list_notes"),
    );
    return (result as { content: { text: string }[] }).content[0]!.text;
  } finally {
    await store.close();
  }
}

// What is looked for is found in /proc, and promised on Linux only.
describe.skipIf(process.platform !== "linux")(
  "of a run with nested runs, inside them stdio",
  () => {
    test.each([
      ["success", "success"],
      ["throw", "The agent broke."],
      ["abort", "abort"],
    ] as const)("nothing is left after %s, while the process lives on", async (ending, said) => {
      const before = await server.stats();
      const run = startProgram(ending, ending === "success" ? "stubborn" : "");
      expect(await run.nextLine()).toBe("begun");
      expect(await run.nextLine()).toBe("ready");
      const { outcome, resources, failures } = JSON.parse(
        await run.nextLine(),
      ) as RunScopeProgramOutput;
      expect(outcome.toLowerCase()).toContain(said.toLowerCase());
      expect(resources).toEqual([]);
      expect(failures).toEqual([]);
      expect(processesWith(run.marker)).toEqual([]);
      // The cart's and the browser's own, which the store has.
      expect((await server.stats()).sessions - before.sessions).toBe(2);
      // Sockets are kept for the next request for some seconds.
      await vi.waitFor(
        async () =>
          expect((await server.stats()).connections).toBeLessThanOrEqual(before.connections),
        { timeout: 20_000, interval: 200 },
      );
      expect(await cartOf(run.storePath)).toBe("a");
      run.child.stdin.end();
      expect(await run.exited).toEqual([0, null]);
    });

    test("SIGTERM with shutdown saves the state, and ends sessions and processes", async () => {
      const before = await server.stats();
      const run = startProgram("wait", "stubborn");
      expect(await run.nextLine()).toBe("begun");
      expect(await run.nextLine()).toBe("ready");
      // The step's own server and one for each of the two nested runs, as far as they use it.
      expect(processesWith(run.marker).length).toBeGreaterThanOrEqual(processCount + 1);
      expect((await server.stats()).sessions - before.sessions).toBeGreaterThan(3);
      run.child.kill("SIGTERM");
      expect(await run.exited).toEqual([0, null]);
      expect(processesWith(run.marker)).toEqual([]);
      expect((await server.stats()).sessions - before.sessions).toBe(2);
      expect(await cartOf(run.storePath)).toBe("a");
    });

    test("SIGKILL leaves no process, and what was saved is found", async () => {
      const run = startProgram("wait", "stubborn");
      expect(await run.nextLine()).toBe("begun");
      expect(await run.nextLine()).toBe("ready");
      expect(processesWith(run.marker).length).toBeGreaterThanOrEqual(processCount + 1);
      run.child.kill("SIGKILL");
      await run.exited;
      await untilNothingIsLeft(run.marker);
      expect(await cartOf(run.storePath)).toBe("a");
    });
  },
);
