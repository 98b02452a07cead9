import type { SessionHandlerOptions } from "../author/session-handler-options.ts";
import type { SealingKeys } from "@durable-mcp/core/sealing";
import {
  checkKeys,
  checkKnown,
  invalidOption,
  isRecord,
  type OptionKinds,
} from "@durable-mcp/core/internal";

type Options = Readonly<Record<string, unknown>>;

const oneOf =
  (...known: readonly string[]) =>
  (value: unknown, field: string) =>
    checkOneOf(value, field, known);

/** What `createSessionHandler` takes. Its settings are checked where they are read. */
const kinds: OptionKinds<SessionHandlerOptions<any>> = {
  createServer(value: unknown, field: string): void {
    if (typeof value === "function") return;
    throw invalidOption(field, "must be a function that builds a server");
  },
  principal(value: unknown, field: string): void {
    if (value === "none" || typeof value === "function") return;
    const fix = 'must be a function that identifies the sender of a request, or "none"';
    throw invalidOption(field, fix);
  },
  store: "store",
  keys: (value: unknown) => checkKeys(value as SealingKeys),
  ...{ authInfo: "function", initialState: "function", migrate: "function" },
  ...{ onStateConflict: "function", stateless: "function", onEvent: "function" },
  responseFormat(value: unknown, field: string): void {
    if (typeof value !== "function") checkOneOf(value, field, ["sse", "json"]);
  },
  ...{ allowedHosts: checkHosts, allowedOrigins: checkHosts },
  unknownSession: oneOf("reject", "adopt"),
  adoptedCapabilities(value: unknown, field: string): void {
    if (!isRecord(value)) throw invalidOption(field, "must be an object");
  },
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

function checkHosts(hosts: unknown, field: string): void {
  const isList = Array.isArray(hosts) && hosts.every((host) => typeof host === "string");
  if (hosts === "any" || isList) return;
  throw invalidOption(field, 'must be a list of names, or "any"');
}

function checkOneOf(value: unknown, field: string, known: readonly string[]): void {
  if (known.includes(value as string)) return;
  throw invalidOption(field, `must be one of ${known.map((text) => `"${text}"`).join(", ")}`);
}
