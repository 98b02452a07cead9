import type { InputResponses } from "@durable-mcp/core/waiting";
import type { LegClientName } from "../conformance/any-client.ts";

/** What is done with each server that asks. */
export const askingScenarios = [
  "answered",
  "two answers at once",
  "server restarted",
  "state expired",
] as const;

export type AskingScenario = (typeof askingScenarios)[number];

/** What one process of an application does with a server that asks. */
export interface AskingLegs {
  /** The way in which the application talks to the server. */
  way: LegClientName;
  legs: AskingLeg[];
}

/** A first leg, or the answers to a call that another process made. */
export interface AskingLeg {
  url: string;
  /** The file of the store: of one call, and of all processes that take part in it. */
  storePath: string;
  tool: string;
  /** Of a first leg. */
  args?: Record<string, unknown>;
  /** The call that is answered. @default the only one that waits */
  id?: string;
  /** Of later ones, one after the other. */
  answers?: InputResponses[];
}

export interface AskingEnd {
  /** `waiting`, the text of the result, a state, or our code. */
  outcome: string;
  /** Of a call that waits. */
  id?: string;
}
