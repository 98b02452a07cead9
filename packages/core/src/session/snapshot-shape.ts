import { isRecord } from "../base/json-values.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import {
  anyNumber,
  anyRecord,
  anyText,
  exactly,
  listOf,
  openRecordOf,
  recordOf,
  type Shape,
  when,
} from "../base/shape.ts";

/** The first protocol revision without sessions. Results of this and later revisions are never saved. */
export const FIRST_STATELESS_VERSION = "2026-07-28";

/** @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management */
const sessionIdPattern = /^[\x21-\x7E]{1,1024}$/;

/** Whether an id from a server may be stored and sent. */
export function isSessionId(value: unknown): value is string {
  return typeof value === "string" && sessionIdPattern.test(value);
}

function hasSessions(version: unknown): boolean {
  const isRevision = typeof version === "string" && /^\d{4}-\d{2}-\d{2}$/.test(version);
  return isRevision && version < FIRST_STATELESS_VERSION;
}

export const anyInitializeResult = recordOf(
  {
    protocolVersion: when(hasSessions),
    capabilities: anyRecord,
    serverInfo: recordOf({ name: anyText, version: anyText }, true),
    "instructions?": anyText,
  },
  true,
);

const toolList = recordOf({
  tools: listOf(recordOf({ name: anyText, inputSchema: anyRecord }, true)),
  listedAt: anyNumber,
});

/** The requests whose results a memory keeps. */
export type KeptMethod = (typeof keptMethods)[number];

const keptMethods = [
  "server/discover",
  "tools/list",
  "prompts/list",
  "resources/list",
  "resources/templates/list",
] as const;

export function isKeptMethod(method: unknown): method is KeptMethod {
  return (keptMethods as readonly unknown[]).includes(method);
}

const keptResult = recordOf({
  method: when(isKeptMethod),
  client: anyText,
  "cursor?": anyText,
  result: anyRecord,
  receivedAt: anyNumber,
  until: anyNumber,
  scope: exactly("public", "private"),
});

const common = {
  ...{ version: exactly(1), url: anyText, kind: anyText },
  "replacesLost?": exactly(true),
};
const standing = { "subscriptions?": listOf(anyText), "logLevel?": anyText };

/** The fields of each kind. A field that is added to a kind has to be optional: older snapshots have to load. */
const kinds: Readonly<Record<string, Shape>> = {
  session: openRecordOf({
    ...common,
    sessionId: when(isSessionId),
    initializeResult: anyInitializeResult,
    clientCapabilities: anyRecord,
    "clientInfo?": anyRecord,
    "toolList?": toolList,
    "refusedSince?": anyNumber,
    "namesVary?": exactly(true),
    "startedAt?": anyNumber,
    ...standing,
  }),
  sessionless: openRecordOf({
    ...common,
    "lost?": openRecordOf(standing),
    "initializeResult?": anyInitializeResult,
    "keptAt?": anyNumber,
    "toolList?": toolList,
    "refusesProbe?": exactly(true),
    "kept?": listOf(keptResult),
  }),
  stateless: openRecordOf({ ...common, decidedAt: anyNumber, "kept?": listOf(keptResult) }),
};

export const anySnapshot: Shape = (value) => {
  if (!isRecord(value)) return [];
  const { kind } = value;
  const shape = typeof kind === "string" && Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
  return shape ? shape(value) : ["kind"];
};

/** Whether a later release wrote a value: this one knows no later version than `newest`. */
export function isNewerFormat(value: unknown, newest = 1): boolean {
  if (!isRecord(value) || !Object.hasOwn(value, "version")) return false;
  const { version } = value;
  return Number.isSafeInteger(version) && (version as number) > newest;
}

/** @param what begins the sentence: `"The session snapshot"` */
export function newerFormat(what: string, connection?: string): McpSessionError {
  return new McpSessionError(
    "STATE_INVALID",
    `${what} has a newer format: a later release of durable-mcp wrote it, and this one must not replace it. Upgrade this process.`,
    { data: { field: "version", ...(connection !== undefined && { connection }) } },
  );
}
