/** One step in a process of its own: does the calls with new clients. */
import { renameSync, writeFileSync } from "node:fs";
import { inspect } from "node:util";
import {
  createSessionFetch,
  createSessionSlot,
  McpSessionError,
  parseSessionSnapshot,
  type SessionEvent,
  sessionFailure,
} from "@durable-mcp/core";
import { createServerMemory } from "@durable-mcp/core/memory";
import { loadClient, type McpTestClient } from "../clients/index.ts";
import { createPassThroughFetch, type PassThroughSession } from "../wire/pass-through-fetch.ts";
import type {
  StepCall,
  StepCallResult,
  StepError,
  StepInput,
  StepOutput,
} from "./step-protocol.ts";

export default async function step(input: StepInput): Promise<StepOutput> {
  const output: StepOutput = { pid: process.pid, results: [], events: [] };
  const session = openSession(input, (event) => output.events.push(event));
  try {
    const connect = await loadClient(input.client);
    const client = await connect({ url: input.url, fetch: session.fetch });
    if (input.list) output.tools = await client.listTools();
    output.results = await makeCalls(client, input, session);
    await withTimeout(client.close(), 2_000);
  } catch (error) {
    output.error = describeError(session, error);
  }
  output.snapshot = session.snapshot();
  // A step whose calls hang would never end by itself; all others must.
  if (output.results.some(({ hung }) => hung)) process.once("disconnect", () => process.exit());
  return output;
}

interface StepSession {
  fetch: typeof fetch;
  snapshot: () => unknown;
  /** The failure that the session fetch delivered to the client as a JSON-RPC error. */
  failure: (error: unknown) => McpSessionError | undefined;
}

function openSession(input: StepInput, onEvent: (event: SessionEvent) => void): StepSession {
  if (input.sessionFetch === "pass-through") {
    const state = { ...(input.snapshot as PassThroughSession | undefined) };
    return {
      fetch: createPassThroughFetch(state),
      snapshot: () => state,
      failure: () => undefined,
    };
  }
  const slot = createSessionSlot(
    input.snapshot === undefined ? undefined : parseSessionSnapshot(input.snapshot),
  );
  const remembering = () => {
    const memory = createServerMemory({ session: "stateless" });
    return createSessionFetch({ url: input.url, slot, memory, onEvent });
  };
  const keeping = () =>
    createSessionFetch({
      url: input.url,
      slot,
      onEvent,
      onSession: async (snapshot) => {
        if (input.savePath === undefined) return;
        // As slow as a store: a save that is not awaited would come after the first call.
        await new Promise((resolve) => setTimeout(resolve, 50));
        saveWhole(input.savePath, JSON.stringify(snapshot));
      },
    });
  return {
    fetch: input.sessionFetch === "memory" ? remembering() : keeping(),
    snapshot: () => slot.snapshot,
    failure: (error) => sessionFailure(slot, error),
  };
}

/** A reader never sees half a file. */
function saveWhole(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

async function makeCalls(
  client: McpTestClient,
  input: StepInput,
  session: StepSession,
): Promise<StepCallResult[]> {
  const calls = input.calls ?? [];
  const make = (call: StepCall) => makeCall(client, call, input, session);
  if (input.overlapping) return Promise.all(calls.map(make));
  const results: StepCallResult[] = [];
  for (const call of calls) results.push(await make(call));
  return results;
}

async function makeCall(
  client: McpTestClient,
  { tool, args }: StepCall,
  { callTimeoutMs = 20_000 }: StepInput,
  session: StepSession,
): Promise<StepCallResult> {
  try {
    const outcome = await withTimeout(client.callTool(tool, args), callTimeoutMs);
    if (!outcome) return { tool, hung: true };
    const { structuredContent } = outcome.raw as { structuredContent?: unknown };
    return { tool, text: outcome.text, isError: outcome.isError, structuredContent };
  } catch (error) {
    return { tool, error: describeError(session, error) };
  }
}

/** Resolves with `undefined` when the time is up. */
async function withTimeout<T>(promise: Promise<T>, timeoutMs: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, undefined);
  });
  return Promise.race([promise, timeUp]).finally(() => clearTimeout(timer));
}

function describeError(session: StepSession, thrown: unknown): StepError {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const code = "code" in error ? error.code : undefined;
  const ours =
    session.failure(thrown) ?? causesOf(thrown).find((cause) => McpSessionError.isInstance(cause));
  return {
    name: error.name,
    message: error.message,
    code,
    ...(ours && { sessionCode: ours.data.reason === "other-era" ? ours.data.reason : ours.code }),
    printed: inspect(thrown, { depth: 8 }),
  };
}

function causesOf(thrown: unknown): unknown[] {
  const causes = [thrown];
  for (let at = thrown; at instanceof Error && causes.length < 10; causes.push(at)) at = at.cause;
  return causes;
}
