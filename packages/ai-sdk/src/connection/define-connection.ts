import * as z from "zod/mini";
import type {
  ConnectionTimeouts,
  McpClientConnectionOptions,
  StatefulSessionOptions,
} from "./connection-options.ts";
import type { ConnectionToolSchemas, ToolNamePrefix } from "./tool-options.ts";
import {
  age,
  flag,
  isFunction,
  isPromise,
  optionalOptions,
  someFunction,
  timeout,
  wholeNumber,
} from "../base/check-options.ts";
import { inputSchema } from "./input-options.ts";
import { isSessionName, sessionNameRule } from "../base/session-name.ts";
import {
  checkDefinition,
  connectionFields,
  isHeaderName,
  isHeaderValue,
  replacementFields,
  timeoutFields,
} from "./option-schemas.ts";
import { memorySchema } from "./memory-options.ts";

/** A declared MCP server. Made by `defineMcpClientConnection`. */
export interface McpClientConnection<
  SCHEMAS extends ConnectionToolSchemas | undefined = ConnectionToolSchemas | undefined,
  PREFIX extends ToolNamePrefix = ToolNamePrefix,
> {
  readonly type: "mcp-client";
  readonly options: McpClientConnectionOptions<SCHEMAS, PREFIX>;
}

/**
 * Declares an MCP server that agents connect to over Streamable HTTP.
 *
 * @example
 * defineMcpClientConnection({
 *   url: "http://localhost:8931/mcp",
 *   description: "A browser that stays open between steps.",
 *   session: "stateful",
 * })
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the field and how to fix it
 */
export function defineMcpClientConnection<
  const SCHEMAS extends ConnectionToolSchemas | undefined = undefined,
  const PREFIX extends ToolNamePrefix = undefined,
>(options: McpClientConnectionOptions<SCHEMAS, PREFIX>): McpClientConnection<SCHEMAS, PREFIX> {
  checkDefinition(clientConnectionSchema, options);
  for (const value of Object.values(options.headers ?? {})) {
    // Its first use tells of a rejection, and may be much later.
    if (isPromise(value)) value.then(undefined, () => undefined);
  }
  return Object.freeze({ type: "mcp-client", options: Object.freeze({ ...options }) });
}

/** The URL of the server, in the form of snapshots. */
export function endpointOf({ options }: McpClientConnection): string {
  return new URL(options.url).href;
}

export function isStateful({ options }: McpClientConnection): boolean {
  const { session } = options;
  return session === "stateful" || (typeof session === "object" && session.mode === "stateful");
}

/** The options of a stateful connection's session. */
export function sessionOptions({
  options: { session },
}: McpClientConnection): Omit<StatefulSessionOptions, "mode"> {
  return typeof session === "object" ? session : {};
}

/** For `session.onStart`. */
export function startTimeoutMs({ options }: McpClientConnection): number {
  return options.timeouts?.startMs ?? 60_000;
}

/** For the handshake, and for listing tools. */
export function connectTimeoutMs({ options }: Pick<McpClientConnection, "options">): number {
  return options.timeouts?.connectMs ?? 10_000;
}

/** For each tool call, over HTTP and stdio; `undefined` where the limit was lifted. */
export function callTimeoutMs({
  options: { timeouts },
}: {
  readonly options: { readonly timeouts?: ConnectionTimeouts | undefined };
}): number | undefined {
  const { callMs = 300_000 } = timeouts ?? {};
  return callMs === false ? undefined : callMs;
}

/** The time limit for a session to be ready, including its preparation by `session.onStart`. */
export function readyTimeoutMs(definition: McpClientConnection): number {
  const { onStart } = sessionOptions(definition);
  return connectTimeoutMs(definition) + (onStart ? startTimeoutMs(definition) : 0);
}

const sessionSchema = z.union(
  [
    z.literal(["stateless", "stateful"]),
    z.strictObject({
      mode: z.literal("stateful", 'is missing: give mode: "stateful"'),
      shared: z.optional(z.custom(isSessionName, sessionNameRule)),
      toolList: z.optional(
        optionalOptions({ maxAgeMs: age, maxLength: wholeNumber(0, Number.MAX_SAFE_INTEGER) }),
      ),
      ...replacementFields,
      classifyLoss: z.optional(someFunction),
      retrySameId: z.optional(flag),
      restartOnNewCapabilities: z.optional(flag),
    }),
  ],
  'must be "stateless", "stateful" or { mode: "stateful", … } with known options',
);

/** Checks `McpClientConnectionOptions`. */
const clientConnectionSchema = z
  .strictObject({
    url: z.custom(
      (value) => /^https?:$/.test(parseUrl(value)?.protocol ?? ""),
      "must be an absolute http(s) URL",
    ),
    ...connectionFields,
    session: z.optional(sessionSchema),
    memory: z.optional(memorySchema),
    input: z.optional(inputSchema),
    auth: z.optional(
      z.union(
        [
          someFunction,
          // It may have more, such as the routes of a sign-in.
          z.object({
            getToken: someFunction,
            authorizationFor: z.optional(someFunction),
            deleteAll: z.optional(someFunction),
          }),
        ],
        "must be { getToken }, or a function that returns a token",
      ),
    ),
    authProvider: z.optional(
      z.custom(
        (value) => isFunction(value) || isFunction((value as { tokens?: unknown } | null)?.tokens),
        "must be an OAuthClientProvider or a function that returns one",
      ),
    ),
    headers: z.optional(
      z.union(
        [
          someFunction,
          z.record(
            z.string().check(z.refine(isHeaderName, "must be an HTTP header name")),
            z.custom(
              (value) => isHeaderValue(value) || isFunction(value) || isPromise(value),
              "must be a string that is valid in a header, a promise of one, or a function that returns one",
            ),
          ),
        ],
        "must be an object, or a function that returns one",
      ),
    ),
    timeouts: z.optional(z.strictObject({ ...timeoutFields, answerMs: z.optional(timeout) })),
    maxRetries: z.optional(wholeNumber(0, 100)),
    fetch: z.optional(someFunction),
  })
  .check(
    z.refine(({ auth, authProvider }) => auth === undefined || authProvider === undefined, {
      path: ["auth"],
      message: "cannot be combined with authProvider; keep the one that applies",
    }),
    z.refine(
      ({ maxRetries, session = "stateless", memory, authProvider, fetch }) =>
        !maxRetries || session !== "stateless" || Boolean(memory || !authProvider || fetch),
      {
        path: ["maxRetries"],
        message:
          "needs a fetch of yours beside authProvider, because @ai-sdk/mcp then sends the requests of a stateless connection itself",
      },
    ),
    z.refine(({ input, session = "stateless" }) => !input || session === "stateless", {
      path: ["input"],
      message:
        '"pause" is for servers without sessions: on a session the server asks on an open stream, which ends with the step. Leave session out, or answer within the step with onElicitation',
    }),
    z.refine(({ input, onElicitation }) => !input || !onElicitation, {
      path: ["input"],
      message:
        "cannot be combined with onElicitation: either the call waits for an answer, or the function gives it within the step",
    }),
    z.refine(({ url }) => !hasCredentials(parseUrl(url)), {
      path: ["url"],
      message: "must not contain credentials; use auth or headers",
    }),
  );

function parseUrl(value: unknown): URL | undefined {
  return URL.canParse(String(value)) ? new URL(String(value)) : undefined;
}

function hasCredentials(url: URL | undefined): boolean {
  return Boolean(url?.username) || Boolean(url?.password);
}
