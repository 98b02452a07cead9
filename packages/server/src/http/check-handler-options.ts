import {
  checkFunction,
  checkKnown,
  checkMethods,
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

/** @throws {McpSessionError} `CONNECTION_INVALID`, naming the option */
export function checkHandlerOptions(options: object): void {
  checkKnown(options, [...ownOptions, ...functions, ...settings, ...ofAdoption, "responseFormat"]);
  const { createServer, store, principal, responseFormat, ...others } = options as Options;
  if (typeof createServer !== "function") {
    throw invalidOption("createServer", "must be a function that builds a server");
  }
  if (principal !== "none" && typeof principal !== "function") {
    const fix = 'must be a function that identifies the sender of a request, or "none"';
    throw invalidOption("principal", fix);
  }
  if (store !== undefined) {
    checkMethods(store, "store", ["get", "put", "touch", "delete", "list"], "a SessionStore");
  }
  for (const name of functions) checkFunction(others[name], name);
  if (typeof responseFormat !== "function") {
    checkOneOf(responseFormat, "responseFormat", ["sse", "json"]);
  }
  checkHosts(others, "allowedHosts");
  checkHosts(others, "allowedOrigins");
  checkAdoption(others);
}

function checkAdoption({ unknownSession, adoptedCapabilities }: Options): void {
  checkOneOf(unknownSession, "unknownSession", ["reject", "adopt"]);
  if (adoptedCapabilities === undefined || isRecord(adoptedCapabilities)) return;
  throw invalidOption("adoptedCapabilities", "must be an object");
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
