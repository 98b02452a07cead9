import type { UnavailableReason } from "@durable-mcp/core";
import {
  type ConnectionFailure,
  connectionFailure,
  isRecord,
  mayFollowWork,
  mayHaveRun,
  oneLine,
} from "@durable-mcp/core/internal";

/** What is known of a request that failed, other than with the server's own JSON-RPC error. */
export interface RequestFailure {
  readonly reason: UnavailableReason;
  /** Whether the server may have carried the request out. */
  readonly mayHaveRun: boolean;
  /** Set if there was no answer. */
  readonly connection?: ConnectionFailure | undefined;
  /** The HTTP status, if there was an answer. */
  readonly status?: number | undefined;
  /** The server's own words, shortened. They may hold secrets. */
  readonly said?: string | undefined;
}

/** Longer chains of causes have nothing useful, or are circles. */
const maxCauses = 10;

/** An error and its causes, those that are objects, outermost first. */
export function causesOf(error: unknown): Record<string, unknown>[] {
  const causes: Record<string, unknown>[] = [];
  for (let current = error; isRecord(current) && causes.length < maxCauses;) {
    causes.push(current);
    current = current["cause"];
  }
  return causes;
}

/**
 * Reads an error of an MCP client. An abort by the caller looks like a time-out here, so look at the
 * signals first.
 *
 * @returns `undefined` for the server's own JSON-RPC error, and for any error that has nothing to do with
 *   the way to the server
 */
export function requestFailure(error: unknown): RequestFailure | undefined {
  const causes = causesOf(error);
  if (causes.some(({ name }) => ofLogin.test(String(name)))) {
    return { reason: "authorization-required", mayHaveRun: false, status: 401 };
  }
  if (isOwnAnswer(causes[0])) return undefined;
  const refused = causes.find((cause) => statusOf(cause) !== undefined);
  if (refused !== undefined) return refusal(statusOf(refused)!, bodyOf(refused));
  const connection = causes.map(brokenConnection).find((failure) => failure !== undefined);
  if (connection !== undefined) return fromConnection(connection);
  return isMalformed(causes[0]) ? { reason: "not-mcp", mayHaveRun: true } : undefined;
}

/** Says that `fetch` threw a `TypeError`, and not any other code. */
const ofFetch = /fetch|network|terminated|load failed|socket|connection|connect/i;

function brokenConnection(cause: Record<string, unknown>): ConnectionFailure | undefined {
  const message = String(cause["message"]);
  // Clients have time limits of their own.
  if (/timed out after/.test(message))
    return { sent: "perhaps", reason: "timeout", words: "no answer came in time." };
  const failure = connectionFailure(cause);
  const isKnown = failure?.code !== undefined || failure?.reason !== "other";
  return isKnown || ofFetch.test(message) ? failure : undefined;
}

function fromConnection(connection: ConnectionFailure): RequestFailure {
  return { reason: connection.reason, mayHaveRun: connection.sent === "perhaps", connection };
}

/** What `@ai-sdk/mcp` throws when only the user can log in, or when the login fails. */
const ofLogin = /^(?:UnauthorizedError|MCPClientOAuthError|AuthorizationServerMismatchError)$/;

/** The failure that an answer means whose status, or whose content, is not one of MCP. */
function refusal(status: number, body: string): RequestFailure {
  const said = wordsOf(body);
  if (status === 401) return { reason: "authorization-required", mayHaveRun: false, status, said };
  if (status < 300) return { reason: "not-mcp", mayHaveRun: true, status };
  // Clients forget the headers.
  const isUnknown = mayHaveRun(status) || mayFollowWork({ status, body }, { method: "tools/call" });
  return { reason: "refused", mayHaveRun: isUnknown, status, said };
}

/** Clients call a JSON-RPC error of the server so. System errors have codes that are words. */
const ofServer = /^(?:MCPClientError|McpError)$/;

/** Whether a client's error is the server's own JSON-RPC error. */
export function isOwnAnswer(
  error: unknown,
): error is { readonly code: number; readonly message: string; readonly data?: unknown } {
  const { name, code } = isRecord(error) ? error : {};
  return Number.isInteger(code) && ofServer.test(String(name));
}

/** A server's refusal of a client that has not declared a capability. */
const missingCapability = -32_021;

/** Whether a client's error says that the server asks a person, and the client cannot. */
export function isQuestion(error: unknown): boolean {
  if (!isOwnAnswer(error)) return /Server requested input, but no handler/.test(messageOf(error));
  const { requiredCapabilities } = isRecord(error.data) ? error.data : {};
  const isElicitation = !isRecord(requiredCapabilities) || "elicitation" in requiredCapabilities;
  return error.code === missingCapability && isElicitation;
}

const messageOf = (error: unknown) => String(isRecord(error) ? error["message"] : error);

/** The HTTP status that a client's error has: `@ai-sdk/mcp`'s, or one of the official SDK's. */
function statusOf({ name, statusCode, code }: Record<string, unknown>): number | undefined {
  if (typeof statusCode === "number") return statusCode;
  const isStatus = Number.isInteger(code) && (code as number) >= 300 && (code as number) < 600;
  return isStatus && !ofServer.test(String(name)) ? (code as number) : undefined;
}

function bodyOf({ responseBody, message }: Record<string, unknown>): string {
  if (typeof responseBody === "string") return responseBody;
  // The official SDK has the body in its message only.
  return /Error POSTing to endpoint.*?: (.*)/s.exec(String(message))?.[1] ?? "";
}

/** What clients throw of an answer that they cannot read: errors of their parsers, or their own. */
const ofParsers = /^(?:ZodError|SyntaxError)$/;
const ofClients =
  /^(?:Failed to (?:parse|process) server|Modern MCP result|Server sent invalid initialize)|protocol version|unexpected content type/i;

function isMalformed({ name, message }: Record<string, unknown> = {}): boolean {
  return ofParsers.test(String(name)) || ofClients.test(String(message));
}

const maxWords = 200;

/** The text of a refusal in one short line; `undefined` for none, and for a page. */
export function wordsOf(body: string): string | undefined {
  const text = textIn(body).slice(0, 4 * maxWords);
  if (/^\s*</.test(text)) return undefined;
  return oneLine(text, maxWords) || undefined;
}

/** The message in a body of JSON, or the body. */
function textIn(body: string): string {
  try {
    const value: unknown = JSON.parse(body);
    const { error, message, error_description: description } = isRecord(value) ? value : {};
    const inner = isRecord(error) ? error["message"] : error;
    const text = [inner, description, message].find((each) => typeof each === "string");
    return typeof text === "string" ? text : body;
  } catch {
    return body;
  }
}
