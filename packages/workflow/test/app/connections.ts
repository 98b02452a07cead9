import { randomBytes } from "node:crypto";
import {
  type ConnectionEvent,
  defineMcpClientConnection,
  type McpConnection,
} from "@durable-mcp/ai-sdk";
import { createMemoryStore } from "@durable-mcp/core";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import { createConnectionSteps, type SlotRefusedEvent } from "@durable-mcp/workflow/steps";

type StepEvent = ConnectionEvent | SlotRefusedEvent;

/** What a test sets for the steps of its runs, which are in the same process. */
export interface StepSettings {
  connections: Record<string, McpConnection>;
  events: StepEvent[];
  /** Seals instead of the usual key, from now on. */
  key?: string;
}

// Bundles have copies of this module.
const settings = globalThis as { workflowTestSettings?: StepSettings };

export function setStepSettings(connections: Record<string, McpConnection>): StepEvent[] {
  settings.workflowTestSettings = { connections, events: [] };
  return settings.workflowTestSettings.events;
}

/** Takes the sealing key away from the steps that follow, and gives them another. */
export function replaceSealingKey(): void {
  settings.workflowTestSettings!.key = randomBytes(32).toString("base64");
}

/** In a process of its own the servers come from the environment. */
function declared(): Record<string, McpConnection> {
  const askingUrl = process.env["ASKING_URL"];
  if (askingUrl !== undefined) {
    const shop = { url: askingUrl, description: "A shop.", waiting: true } as const;
    return { shop: defineMcpClientConnection(shop) };
  }
  const url = process.env["NOTEBOOK_URL"];
  if (url === undefined) return settings.workflowTestSettings?.connections ?? {};
  const session = JSON.parse(process.env["NOTEBOOK_SESSION"] ?? '"stateful"') as "stateful";
  return { notes: defineMcpClientConnection({ url, description: "Notes.", session }) };
}

const options = {
  connections: declared,
  onEvent: {
    every: (event: StepEvent) => settings.workflowTestSettings?.events.push(event),
  },
};

export const sealed = createConnectionSteps({
  ...options,
  keys: {
    get current() {
      return settings.workflowTestSettings?.key ?? "a2V5IGZvciB0aGUgdGVzdHMgb2YgdGhlIHdvcmtmbG8";
    },
  },
});

const path = process.env["STORE_PATH"];
const store = path === undefined ? createMemoryStore() : createSqliteStore({ path });
export const stored = createConnectionSteps({ ...options, store });
