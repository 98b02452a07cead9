import type { SealingKeys } from "@durable-mcp/core/sealing";
import {
  checkFunction,
  checkKeys,
  checkKnown,
  checkStore,
  invalidOption,
  isRecord,
} from "@durable-mcp/core/internal";

type Options = Readonly<Record<string, unknown>>;

/** What `createSessionHandler` takes besides its settings, which are checked where they are read. */
const ownOptions = ["createServer", "store", "principal", "allowedHosts", "allowedOrigins"];
const functions = [
  "authInfo",
  "initialState",
  "migrate",
  "onStateConflict",
  "stateless",
  "onEvent",
];
const settings = ["name", "timeouts", "limits", "events", "now"];
const ofAdoption = ["unknownSession", "adoptedCapabilities"];
const others = ["responseFormat", "stateScope", "keys"];

/** @throws {McpSessionError} `CONNECTION_INVALID`, naming the option */
export function checkHandlerOptions(options: object): void {
  checkKnown(options, [...ownOptions, ...functions, ...settings, ...ofAdoption, ...others]);
  const { createServer, store, principal, responseFormat, stateScope, ...rest } =
    options as Options;
  if (typeof createServer !== "function") {
    throw invalidOption("createServer", "must be a function that builds a server");
  }
  if (principal !== "none" && typeof principal !== "function") {
    const fix = 'must be a function that identifies the sender of a request, or "none"';
    throw invalidOption("principal", fix);
  }
  if (store !== undefined) checkStore(store, "store");
  if (rest["keys"] !== undefined) checkKeys(rest["keys"] as SealingKeys);
  for (const name of functions) checkFunction(rest[name], name);
  if (typeof responseFormat !== "function") {
    checkOneOf(responseFormat, "responseFormat", ["sse", "json"]);
  }
  checkHosts(rest, "allowedHosts");
  checkHosts(rest, "allowedOrigins");
  checkAdoption(rest);
  checkStateScope(stateScope, principal);
}

function checkAdoption({ unknownSession, adoptedCapabilities }: Options): void {
  checkOneOf(unknownSession, "unknownSession", ["reject", "adopt"]);
  if (adoptedCapabilities === undefined || isRecord(adoptedCapabilities)) return;
  throw invalidOption("adoptedCapabilities", "must be an object");
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

function checkHosts(options: Options, field: string): void {
  const hosts = options[field];
  const isList = Array.isArray(hosts) && hosts.every((host) => typeof host === "string");
  if (hosts === undefined || hosts === "any" || isList) return;
  throw invalidOption(field, 'must be a list of names, or "any"');
}

function checkOneOf(value: unknown, field: string, known: readonly string[]): void {
  if (value === undefined || known.includes(value as string)) return;
  throw invalidOption(field, `must be one of ${known.map((text) => `"${text}"`).join(", ")}`);
}
