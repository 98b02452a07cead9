import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { ModelMessage } from "ai";

/** What the steps hand on to each other: the conversation, and what durable-mcp keeps. */
export interface AgentSession {
  messages: ModelMessage[];
  state: Record<string, unknown>;
}

/** Loads the agent session; before the first step there is no file. */
export function loadSession(file: string): AgentSession {
  if (!existsSync(file)) return { messages: [], state: {} };
  return JSON.parse(readFileSync(file, "utf8")) as AgentSession;
}

/** The file holds MCP session ids, which are credentials: it is for this user's eyes only. */
export function saveSession(file: string, session: AgentSession): void {
  writeFileSync(file, JSON.stringify(session), { mode: 0o600 });
}
