import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import {
  createConnectionProvider,
  createDurableSessions,
  currentConnections,
  defineMcpClientConnection,
  McpSessionError,
  withConnections,
} from "@durable-mcp/ai-sdk";
import { defineMcpStdioConnection } from "@durable-mcp/ai-sdk/stdio";
import { createMemoryStore } from "@durable-mcp/core";

/** A mistake on purpose, to see the check go red: nothing of such a run is let go. */
export const leaks = ["run", "timer", "process"] as const;
export type Leak = (typeof leaks)[number];

/** How many agent sessions the runs belong to, one after another. */
const agentSessions = 20;
/** Every such run has a stdio server of its own, in a nested run. */
const stdioEvery = 50;

const principal = { type: "app" } as const;

/** A failure that a run makes on purpose. */
class PlannedFailure extends Error {}

/** Runs of all kinds on real servers, on their own connection provider and on one with a pool. */
// oxlint-disable-next-line max-lines-per-function -- each kind of run, one after the other
export function createSoakRuns(
  urls: { readonly notebook: string; readonly stateless: string },
  leak: Leak | undefined,
) {
  const description = "A server of the soak.";
  const strip = process.features.typescript ? [] : ["--experimental-strip-types"];
  const stdioServer = fileURLToPath(new URL("../fixtures/sdk-v2-stdio-server.ts", import.meta.url));
  const connections = {
    cart: defineMcpClientConnection({ url: urls.notebook, description, session: "stateful" }),
    browser: defineMcpClientConnection({ url: urls.notebook, description, session: "stateful" }),
    plain: defineMcpClientConnection({ url: urls.stateless, description }),
  };
  const files = defineMcpStdioConnection({
    command: process.execPath,
    args: [...strip, stdioServer],
    description,
  });
  const counts = { runs: 0, failed: 0, aborted: 0, nested: 0, stdio: 0, pooled: 0, calls: 0 };
  const unexpected: string[] = [];
  const onEvent = ({ type, connection }: { type: string; connection: string }) => {
    if (["close-failed", "unavailable", "lost"].includes(type)) {
      unexpected.push(`${connection}: ${type}`);
    }
  };
  const plainProvider = createConnectionProvider({ connections, onEvent: { every: onEvent } });
  const pooledProvider = createConnectionProvider({
    connections,
    onEvent: { every: onEvent },
    pool: { max: 6 },
  });
  // Of its own: opening a durable session connects all that is declared.
  const stdioProvider = createConnectionProvider({
    connections: { files },
    onEvent: { every: onEvent },
  });
  const options = { store: createMemoryStore(), onEvent: { every: onEvent } };
  const plain = createDurableSessions({ provider: plainProvider, ...options });
  const pooled = createDurableSessions({ provider: pooledProvider, ...options });
  /** As long as the process: what stays on it stays for good. */
  const stopping = new AbortController();
  const leaked: unknown[] = [];

  const echo = async (connection: string, text: string) => {
    counts.calls += 1;
    const result = await currentConnections().call(connection, "echo", { text });
    assert.deepEqual((result as { content: unknown }).content, [{ type: "text", text }]);
  };

  /** A sub-agent: a browser of its own, the cart of all, and one more inside. */
  const subAgent = async (name: string, fail: boolean) => {
    counts.nested += 1;
    await withConnections({ browser: "isolate" }, async () => {
      await Promise.all([echo("browser", name), echo("cart", name)]);
      await withConnections({ browser: "inherit", plain: "isolate" }, async () => {
        await Promise.all([echo("browser", name), echo("plain", name)]);
        if (fail) throw new PlannedFailure(name);
      });
    });
  };

  const useTool = async () => {
    const { cart__echo } = await currentConnections().tools();
    await cart__echo!.execute!({ text: "tool" }, { toolCallId: "1", messages: [], context: {} });
    await Promise.all([echo("cart", "a"), echo("plain", "b")]);
  };

  const useSubAgents = async (index: number) => {
    const agents = [subAgent(`a${index}`, index % 5 === 0), subAgent(`b${index}`, false)];
    const outcomes = await Promise.allSettled(agents);
    for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  };

  const useStdio = async (index: number) => {
    counts.stdio += 1;
    await stdioProvider
      .create({ abortSignal: stopping.signal })
      .enter(() => withConnections({ files: "isolate" }, () => echo("files", `s${index}`)));
  };

  const leakSomething = async (index: number) => {
    if (leak === "timer") leaked.push(setInterval(() => undefined, 1e6));
    if (leak === "run") {
      const run = plainProvider.create({ principal });
      leaked.push(await run.tools());
    }
    if (leak === "process" && index % 20 === 0) {
      leaked.push(await stdioProvider.create({}).client("files"));
    }
  };

  /** One run; the failures that it plans are no failures. */
  const run = async (index: number): Promise<void> => {
    const isPooled = index % 4 === 1;
    const sessions = isPooled ? pooled : plain;
    const sessionId = `agent-session-${index % agentSessions}`;
    const isAborted = index % 7 === 0;
    const controller = new AbortController();
    const abortSignal = isAborted ? controller.signal : stopping.signal;
    counts.runs += 1;
    if (isPooled) counts.pooled += 1;
    try {
      await sessions.run(sessionId, { principal, abortSignal }, async () => {
        if (isAborted) {
          const call = currentConnections().call("cart", "slow_echo", { text: "x", delayMs: 20 });
          controller.abort(new PlannedFailure("aborted"));
          await call;
        }
        if (index % stdioEvery === 2) await useStdio(index);
        else if (index % 3 === 0) await useSubAgents(index);
        else await useTool();
      });
    } catch (error) {
      if (isAborted) counts.aborted += 1;
      else if (error instanceof PlannedFailure) counts.failed += 1;
      else throw describe(error);
    }
    await leakSomething(index);
  };

  return {
    run,
    counts,
    /** Events that no run has planned. */
    unexpected,
    async shutdown() {
      const providers = [plainProvider, pooledProvider, stdioProvider];
      await Promise.all(providers.map((provider) => provider.shutdown()));
    },
  };
}

function describe(error: unknown): unknown {
  if (!McpSessionError.isInstance(error)) return error;
  return new Error(`${error.code}: ${error.message}`, { cause: error });
}
