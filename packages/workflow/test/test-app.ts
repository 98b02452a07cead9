import {
  type McpClientConnection,
  defineMcpClientConnection,
  type StatefulSessionOptions,
} from "@durable-mcp/ai-sdk";
import { start, type Run } from "workflow/api";
import { afterAll, beforeAll, inject } from "vitest";
import { type AskingServer, startAskingServer } from "../../sessions/test/asking-server.ts";
import { type NotebookServer, startNotebookServer } from "../../sessions/test/notebook-server.ts";
import { alice } from "./app/alice.ts";
import { setStepSettings } from "./app/connections.ts";
import type { ScriptedRun } from "./app/workflows.ts";
import {
  type SlowKind,
  type SlowServer,
  startSlowServer,
} from "../../sessions/test/slow-server.ts";
import { type LocalWorld, startLocalWorld } from "./local-world.ts";

export { alice };
export const bob = { type: "user", issuer: "https://idp.test", id: "bob" } as const;

/** What the workflow `scripted` returns. */
export interface ScriptedResult {
  readonly results: any[][];
  readonly state: string | undefined;
  readonly instructions: Record<string, string>;
  readonly tools: string[];
}

/** Runs the app of `test/app` for the tests of one file. */
export function useTestApp() {
  const app = inject("workflowApp");
  let local: LocalWorld;
  beforeAll(async () => {
    local = await startLocalWorld(app);
  });
  afterAll(async () => await local.close());

  const begin = (workflow: string, options: unknown): Promise<Run<any>> =>
    start({ workflowId: app.workflowIds[workflow]! }, [options]);

  return {
    get world() {
      return local;
    },
    get stepIds() {
      return app.stepIds;
    },
    begin,
    /** Calls tools of the connection `notes` for Alice, unless told otherwise. */
    beginScripted: (run: Partial<ScriptedRun>): Promise<Run<ScriptedResult>> =>
      begin("scripted", { connections: ["notes"], principal: alice, turns: [], ...run }),
    async scripted(run: Partial<ScriptedRun>): Promise<ScriptedResult> {
      return await (
        await this.beginScripted(run)
      ).returnValue;
    },
  };
}

/** A server for the connection `notes`, and what happens in the steps. */
export async function startNotes(
  session: "stateful" | "stateless" | Omit<StatefulSessionOptions, "mode"> = "stateful",
  options: Partial<McpClientConnection["options"]> = {},
): Promise<NotebookServer & { events: () => string[] }> {
  const server = await startNotebookServer();
  const events = setStepSettings({
    notes: defineMcpClientConnection({
      url: server.url,
      description: "Notes.",
      session: typeof session === "string" ? session : { mode: "stateful", ...session },
      ...options,
    }),
  });
  // Not a spread: what the server counts are getters.
  return Object.assign(server, { events: () => events.map(({ type }) => type) });
}

/** A server for the connection `shop`, which asks a person before it orders. */
export async function startShop(
  waiting: Exclude<McpClientConnection["options"]["waiting"], true> = {},
  options: Parameters<typeof startAskingServer>[0] = {},
  definition: Partial<McpClientConnection["options"]> = {},
): Promise<AskingServer & { events: () => string[] }> {
  const server = await startAskingServer(options);
  const { url } = server;
  const events = setStepSettings({
    shop: defineMcpClientConnection({
      url,
      description: "A shop.",
      waiting,
      ...definition,
    }),
  });
  return Object.assign(server, { events: () => events.map(({ type }) => type) });
}

/** A server for the connection `shop`, whose calls last. */
export async function startSlowShop(kind: SlowKind): Promise<SlowServer> {
  const server = await startSlowServer(kind);
  setStepSettings({
    shop: defineMcpClientConnection({
      ...{ url: server.url, description: "A lab." },
      session: kind === "task of 2026-07-28" ? "stateless" : "stateful",
      waiting: { afterMs: 150 },
    }),
  });
  return server;
}

export const add = (text: string) => ({ tool: "notes__add_note", input: { text } });
export const list = { tool: "notes__list_notes" };

/** The text of a tool result in the model's form. */
export function textOf(result: any): string {
  if (result.type !== "content") return JSON.stringify(result);
  return result.value.map((part: any) => part.text).join("\n");
}
