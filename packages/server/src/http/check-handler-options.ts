import type { SessionHandlerOptions } from "../author/session-handler-options.ts";
import type { SealingKeys } from "@durable-mcp/core/sealing";
import {
  checkKeys,
  checkKnown,
  invalidOption,
  isRecord,
  type OptionKind,
  type OptionKinds,
} from "@durable-mcp/core/internal";

type Options = Readonly<Record<string, unknown>>;

const isHosts = (value: unknown) =>
  value === "any" || (Array.isArray(value) && value.every((host) => typeof host === "string"));
const hosts: OptionKind = { test: isHosts, fix: 'must be a list of names, or "any"' };

/** What `createSessionHandler` takes. Its settings are checked where they are read. */
const kinds: OptionKinds<SessionHandlerOptions<any>> = {
  createServer: { either: ["function"], is: "a function that builds a server" },
  principal: {
    either: [{ oneOf: ["none"] }, "function"],
    is: 'a function that identifies the sender of a request, or "none"',
  },
  store: "store",
  keys: (value: unknown) => checkKeys(value as SealingKeys),
  ...{ authInfo: "function", initialState: "function", migrate: "function" },
  ...{ onStateConflict: "function", stateless: "function", onEvent: "function" },
  responseFormat: {
    either: [{ oneOf: ["sse", "json"] }, "function"],
    is: '"sse", "json" or a function of the request',
  },
  ...{ allowedHosts: hosts, allowedOrigins: hosts, adoptedCapabilities: "object" },
  unknownSession: { oneOf: ["reject", "adopt"] },
  ...{ stateScope: "anything", name: "anything", timeouts: "anything", limits: "anything" },
  ...{ events: "anything", now: "anything" },
};

/** @throws {McpSessionError} `CONNECTION_INVALID`, naming the option */
export function checkHandlerOptions(options: SessionHandlerOptions<any>): void {
  checkKnown(options, kinds, { required: ["createServer", "principal"] });
  checkStateScope(options.stateScope, options.principal);
}

function checkStateScope(scope: unknown, principal: unknown): void {
  if (scope === "principal" && principal === "none") {
    const fix = 'must not be "principal" without a principal function: nobody is told apart';
    throw invalidOption("stateScope", fix);
  }
  if (scope === undefined || scope === "session" || scope === "principal") return;
  const names = isRecord(scope) ? Object.keys(scope) : [];
  const isHandle = names.length === 1 && typeof (scope as Options)["handle"] === "string";
  if (isHandle && (scope as Options)["handle"] !== "") return;
  const fix = 'must be "session", "principal" or { handle: "the name of an argument" }';
  throw invalidOption("stateScope", fix);
}
