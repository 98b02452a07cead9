import type { MCPClientCapabilities, OAuthClientProvider } from "@ai-sdk/mcp";
import type { ElicitationRequest, ElicitResult, MCPClient } from "@ai-sdk/mcp";
import {
  McpSessionError,
  type Principal,
  type RefusedAnswer,
  type ResendPolicy,
  type SessionLoss,
  type ToolListOptions,
} from "@durable-mcp/core";
import * as z from "zod/mini";
import { isHeaderValue } from "./header-value.ts";

/** What a function in a definition is told about the use it is called for. */
export interface ConnectionContext {
  /** On whose behalf the connection is used. */
  readonly principal: Principal | undefined;
  /** The connection's name. */
  readonly connection: string;
  /** Aborts when the step's registry is disposed of. */
  readonly abortSignal: AbortSignal;
}

/** A bearer token and when it stops working, in milliseconds since 1970-01-01 UTC or as a `Date`. */
export interface ConnectionToken {
  readonly token: string;
  readonly expiresAt?: number | Date | undefined;
}

type Awaitable<T> = T | Promise<T>;
type HeaderValue = string | ((context: ConnectionContext) => Awaitable<string>);

/** Schemas for typed and validated tools, as `schemas` of `MCPClient.tools()` takes them. */
export type ConnectionToolSchemas = Exclude<
  NonNullable<NonNullable<Parameters<MCPClient["tools"]>[0]>["schemas"]>,
  "automatic"
>;

/** What `session.onStart` is given. */
export interface ConnectionStart extends ConnectionContext {
  /** `"started"`: the first session. `"recovered"`: one in the place of a lost one. */
  readonly reason: "started" | "recovered";
  /** Talks to the new session; closed when the hook is over. */
  readonly client: MCPClient;
  /** Aborts when the hook takes too long, and when the step's registry is disposed of. */
  readonly abortSignal: AbortSignal;
}

/** How a stateful connection keeps its session. */
export interface StatefulSessionOptions {
  readonly mode: "stateful";
  /** How long and how large a tool list may be to be kept in the state. */
  readonly toolList?: ToolListOptions | undefined;
  /**
   * What is sent again when the server has lost the session. `"safe"`: everything that the server
   * refused unprocessed; where that is not certain, only lists, reads, pings, `safeTools` and, with
   * `trustAnnotations`, tools that the server marks read-only or idempotent. `"always"`, `"never"`:
   * whatever it is. What is not sent again fails with `SESSION_LOST` or `OUTCOME_UNKNOWN`.
   * @default "safe"
   */
  readonly resend?: ResendPolicy | undefined;
  /** Tools, by the server's names, that may run twice. @default none */
  readonly safeTools?: readonly string[] | undefined;
  /** Whether the server's word counts for which tools may run twice. @default false */
  readonly trustAnnotations?: boolean | undefined;
  /**
   * Whether a lost session is replaced. Otherwise the loss is reported, for callers that open the
   * next session elsewhere. @default true
   */
  readonly recover?: boolean | undefined;
  /**
   * What an answer that is not 2xx says of the session, for servers with a dialect of their own:
   * `"definite"`, `"probable"` or `"none"`; `undefined` leaves it to the built-in rule.
   */
  readonly classifyLoss?: ((answer: RefusedAnswer) => SessionLoss | undefined) | undefined;
  /**
   * Whether a request that met a lost session is first tried once more with the same id, for load
   * balancers that sometimes hit the wrong replica. @default false
   */
  readonly retrySameId?: boolean | undefined;
  /**
   * Tools, by the server's names, whose calls go to a second session, which lasts as long as the
   * step's registry and is not saved. @default none
   */
  readonly except?: readonly string[] | undefined;
  /**
   * Prepares each new session, the first and those in a lost one's place: selects a workspace, logs
   * in. Runs before the session is saved and before any waiting call goes on. When it fails, the
   * session is ended and the calls fail with `CONNECTION_UNAVAILABLE`; the next one tries again.
   */
  readonly onStart?: ((start: ConnectionStart) => Awaitable<void>) | undefined;
  /**
   * What the model is told in the first tool result after a lost session was replaced; `false` for
   * nothing. @default a sentence that says that what the server held before is gone
   */
  readonly lossNotice?: string | false | undefined;
  /**
   * How long the verdict that the server has no sessions holds, in milliseconds.
   * @default 86400000 (1 day)
   */
  readonly statelessMaxAgeMs?: number | undefined;
}

export interface McpClientConnectionOptions<
  SCHEMAS extends ConnectionToolSchemas | undefined = ConnectionToolSchemas | undefined,
> {
  /** The server's Streamable HTTP endpoint. */
  readonly url: string | URL;
  /** What the connection is for, for people and for prompts. */
  readonly description: string;
  /**
   * Whether one MCP session lasts over all steps of an agent session.
   * @default "stateless"
   */
  readonly session?: "stateless" | "stateful" | StatefulSessionOptions | undefined;
  /** A bearer token, asked for once a step and again after a 401. Not together with `authProvider`. */
  readonly auth?:
    | { readonly getToken: (context: ConnectionContext) => Awaitable<ConnectionToken> }
    | undefined;
  /**
   * OAuth as `@ai-sdk/mcp` does it; a function, called once a step, when each principal has tokens
   * of its own.
   */
  readonly authProvider?:
    | OAuthClientProvider
    | ((context: ConnectionContext) => Awaitable<OAuthClientProvider>)
    | undefined;
  /** Headers for every request to the server. Functions are called once a step. */
  readonly headers?: Readonly<Record<string, HeaderValue>> | undefined;
  /** Which of the server's tools are offered, by the server's names. @default all */
  readonly tools?:
    | { readonly allow: readonly string[] }
    | { readonly block: readonly string[] }
    | undefined;
  /** Typed and validated tools; only these are offered then. Otherwise the server's JSON Schema is used. */
  readonly schemas?: SCHEMAS;
  /** Client capabilities to declare. Sampling, elicitation and roots need, and get, an open stream. */
  readonly capabilities?: MCPClientCapabilities | undefined;
  /** Answers the server's elicitation requests; declares the capability. */
  readonly onElicitation?:
    | ((request: ElicitationRequest, context: ConnectionContext) => Awaitable<ElicitResult>)
    | undefined;
  readonly timeouts?:
    | {
        /**
         * For the handshake and for listing tools, in milliseconds. A server that does not answer
         * delays `tools()`, of all connections, by that much. @default 10000
         */
        readonly connectMs?: number | undefined;
        /** For each tool call, in milliseconds; it fails with `OUTCOME_UNKNOWN`. @default none */
        readonly callMs?: number | undefined;
        /**
         * How long the server of a stateful connection may be silent while a call waits, in
         * milliseconds; the call fails with `OUTCOME_UNKNOWN`. @default 300000 (5 minutes)
         */
        readonly answerMs?: number | undefined;
        /** For `session.onStart`, in milliseconds. @default 60000 */
        readonly startMs?: number | undefined;
      }
    | undefined;
  /** Whether a stateful connection follows redirects within the server's origin. @default "refuse" */
  readonly redirect?: "refuse" | "same-origin" | undefined;
  /**
   * The fetch that requests go out with. Passing one also vouches for where OAuth requests may go:
   * use one that checks hosts. @default globalThis.fetch, with other origins refused
   */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** A declared MCP server. Made by `defineMcpClientConnection`. */
export interface McpClientConnection<
  SCHEMAS extends ConnectionToolSchemas | undefined = ConnectionToolSchemas | undefined,
> {
  readonly type: "mcp-client";
  readonly options: McpClientConnectionOptions<SCHEMAS>;
}

const isFunction = (value: unknown): boolean => typeof value === "function";
const positive = z.number().check(z.positive("must be a positive number of milliseconds"));
export const timeout = positive.check(
  z.int("must be a whole number of milliseconds"),
  z.maximum(2_147_483_647, "must be at most 2147483647 milliseconds"),
);
export const text = z.string().check(z.minLength(1, "must not be empty"));
export const names = z.array(text);
export const someFunction = z.custom(isFunction, "must be a function");
export const someObject = z.custom(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  "must be an object",
);

export const toolFilter = z.optional(
  z.union(
    [z.strictObject({ allow: names }), z.strictObject({ block: names })],
    "must be { allow: string[] } or { block: string[] }",
  ),
);

const optionsSchema = z
  .strictObject({
    url: z.custom(
      (value) => /^https?:$/.test(parseUrl(value)?.protocol ?? ""),
      "must be an absolute http(s) URL",
    ),
    description: text,
    session: z.optional(
      z.union(
        [
          z.literal(["stateless", "stateful"]),
          z.strictObject({
            mode: z.literal("stateful"),
            toolList: z.optional(
              z.strictObject({ maxAgeMs: z.optional(positive), maxLength: z.optional(z.number()) }),
            ),
            statelessMaxAgeMs: z.optional(positive),
            resend: z.optional(z.literal(["safe", "always", "never"])),
            safeTools: z.optional(names),
            trustAnnotations: z.optional(z.boolean()),
            recover: z.optional(z.boolean()),
            classifyLoss: z.optional(someFunction),
            retrySameId: z.optional(z.boolean()),
            except: z.optional(names),
            onStart: z.optional(someFunction),
            lossNotice: z.optional(z.union([text, z.literal(false)])),
          }),
        ],
        'must be "stateless", "stateful" or { mode: "stateful", … } with known options',
      ),
    ),
    auth: z.optional(z.strictObject({ getToken: someFunction })),
    authProvider: z.optional(
      z.custom(
        (value) => isFunction(value) || isFunction((value as { tokens?: unknown } | null)?.tokens),
        "must be an OAuthClientProvider or a function that returns one",
      ),
    ),
    headers: z.optional(
      z.record(
        z.string().check(z.regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "must be an HTTP header name")),
        z.custom(
          (value) => isHeaderValue(value) || isFunction(value),
          "must be a string that is valid in a header, or a function that returns one",
        ),
      ),
    ),
    tools: toolFilter,
    schemas: z.optional(someObject),
    capabilities: z.optional(someObject),
    onElicitation: z.optional(someFunction),
    timeouts: z.optional(
      z.strictObject({
        connectMs: z.optional(timeout),
        callMs: z.optional(timeout),
        answerMs: z.optional(timeout),
        startMs: z.optional(timeout),
      }),
    ),
    redirect: z.optional(z.literal(["refuse", "same-origin"], 'must be "refuse" or "same-origin"')),
    fetch: z.optional(someFunction),
  })
  .check(
    z.refine(({ auth, authProvider }) => auth === undefined || authProvider === undefined, {
      path: ["auth"],
      message: "cannot be combined with authProvider; keep the one that applies",
    }),
    z.refine(({ redirect, session = "stateless" }) => !redirect || session !== "stateless", {
      path: ["redirect"],
      message: "is for stateful connections; a stateless one refuses redirects",
    }),
    z.refine(({ url }) => !hasCredentials(parseUrl(url)), {
      path: ["url"],
      message: "must not contain credentials; use auth or headers",
    }),
  );

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
>(options: McpClientConnectionOptions<SCHEMAS>): McpClientConnection<SCHEMAS> {
  checkOptions(optionsSchema, options);
  return Object.freeze({ type: "mcp-client", options: Object.freeze({ ...options }) });
}

/**
 * Checks the options of a definition.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the field and how to fix it
 */
export function checkOptions(schema: z.ZodMiniType, options: unknown): void {
  const parsed = z.safeParse(schema, options);
  if (parsed.success) return;
  const issue = parsed.error.issues[0];
  const unknownKey = issue?.code === "unrecognized_keys" ? issue.keys[0] : undefined;
  const path = [...(issue?.path ?? []), ...(unknownKey === undefined ? [] : [unknownKey])];
  const field = path.join(".") || "options";
  // The issue of a key says that it is invalid, the one inside says why.
  const reason = issue?.code === "invalid_key" ? issue.issues[0]?.message : issue?.message;
  const fix = unknownKey === undefined ? (reason ?? "is invalid") : "is not a known option";
  throw new McpSessionError("CONNECTION_INVALID", `Connection option ${field} ${fix}.`, {
    data: { field },
  });
}

function parseUrl(value: unknown): URL | undefined {
  return URL.canParse(String(value)) ? new URL(String(value)) : undefined;
}

function hasCredentials(url: URL | undefined): boolean {
  return Boolean(url?.username) || Boolean(url?.password);
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
export function connectTimeoutMs({ options }: McpClientConnection): number {
  return options.timeouts?.connectMs ?? 10_000;
}

/** For what waits for a session to be ready, which `session.onStart` may have to prepare first. */
export function readyTimeoutMs(definition: McpClientConnection): number {
  const { onStart } = sessionOptions(definition);
  return connectTimeoutMs(definition) + (onStart ? startTimeoutMs(definition) : 0);
}
