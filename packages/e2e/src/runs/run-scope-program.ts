/**
 * A program whose work is one run of an agent session with nested runs, each with sessions and a
 * stdio server of its own. Says `ready` in the innermost one, does there what `ending` says, and
 * prints what it then holds on to. Ends by itself when its stdin ends.
 *
 *     RUN_SCOPE_PROGRAM=<a RunScopeProgramInput as JSON> node run-scope-program.ts
 */
import { setTimeout as sleep } from "node:timers/promises";
import {
  createConnectionProvider,
  createDurableSessions,
  currentConnections,
  defineMcpClientConnection,
  withConnections,
} from "@durable-mcp/ai-sdk";
import { defineMcpStdioConnection } from "@durable-mcp/ai-sdk/stdio";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";

export interface RunScopeProgramInput {
  readonly url: string;
  readonly storePath: string;
  readonly stdio: { readonly command: string; readonly args: readonly string[] };
  /** `wait` goes on for ever. */
  readonly ending: "success" | "throw" | "abort" | "wait";
}

/** Printed as one line of JSON when the run is over. */
export interface RunScopeProgramOutput {
  readonly outcome: string;
  /** What keeps the process alive, beside what did before the run. */
  readonly resources: readonly string[];
  readonly failures: readonly string[];
}

const input = JSON.parse(process.env["RUN_SCOPE_PROGRAM"] ?? "") as RunScopeProgramInput;
const description = "A server of the test.";
const stateful = () =>
  defineMcpClientConnection({ url: input.url, description, session: "stateful" });
const failures: string[] = [];
const provider = createConnectionProvider({
  connections: {
    cart: stateful(),
    browser: stateful(),
    plain: defineMcpClientConnection({ url: input.url, description }),
    files: defineMcpStdioConnection({
      ...input.stdio,
      description,
      timeouts: { closeMs: 200 },
    }),
  },
  onEvent: ({ type, connection }) => {
    if (type === "close-failed") failures.push(`${connection}: ${type}`);
  },
});
const store = createSqliteStore({ path: input.storePath });
const sessions = createDurableSessions({ provider, store });
process.once("SIGTERM", () => {
  void provider.shutdown().then(async () => {
    await store.close();
    process.exit(0);
  });
});
process.stdin.resume();
process.stdout.write("begun\n");
await sleep(0);
const before = process.getActiveResourcesInfo();

const controller = new AbortController();
const { signal: abortSignal } = controller;
const own = { browser: "isolate", files: "isolate", plain: "isolate" } as const;

const innermost = async () => {
  const connections = currentConnections();
  await Promise.all([
    connections.call("cart", "add_note", { text: "a" }),
    connections.call("browser", "add_note", { text: "b" }),
    connections.call("plain", "add_note", { text: "c" }),
    connections.call("files", "start_processes"),
  ]);
  process.stdout.write("ready\n");
  if (input.ending === "throw") throw new Error("The agent broke.");
  if (input.ending === "success") return;
  const waiting = connections.call("files", "wait", {}, { abortSignal });
  if (input.ending === "abort") setTimeout(() => controller.abort(new Error("Enough.")), 50);
  await waiting;
};

const run = sessions.run("agent-session", { principal: { type: "app" }, abortSignal }, () =>
  withConnections(own, async () => {
    await currentConnections().call("browser", "add_note", { text: "outer" });
    await withConnections(own, innermost);
  }),
);
const outcome = await run.then(
  () => "success",
  (error: Error) => error.message,
);
// What Node itself has put off to its next turn is not ours, and is gone after a few.
for (let turn = 0; turn < 3; turn += 1) await sleep(0);
const resources = process.getActiveResourcesInfo();
for (const kind of before)
  if (resources.includes(kind)) resources.splice(resources.indexOf(kind), 1);
process.stdout.write(
  `${JSON.stringify({ outcome, resources, failures } satisfies RunScopeProgramOutput)}\n`,
);
await store.close();
