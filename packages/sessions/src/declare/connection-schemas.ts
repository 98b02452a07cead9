import { waitingLimitChecks } from "@durable-mcp/core/internal";
import type { WaitingLimits } from "@durable-mcp/core/waiting";
import * as z from "zod/mini";
import {
  age,
  checkedBy,
  checkOptions,
  flag,
  isFunction,
  isJson,
  isPromise,
  names,
  optionalOptions,
  someFunction,
  someObject,
  text,
  timeout,
  wholeNumber,
} from "../base/check-options.ts";
import { isSessionName, sessionNameRule } from "../base/session-name.ts";

const providedArgument = z.custom(
  (value) => isFunction(value) || isJson(value),
  "must be a JSON value, or a function that returns one",
);

/** The fields of `ConnectionOptions`. */
export const connectionFields = {
  description: text,
  required: z.optional(flag),
  tools: z.optional(
    z.union(
      [z.strictObject({ allow: names }), z.strictObject({ block: names })],
      "must be { allow: string[] } or { block: string[] }",
    ),
  ),
  toolNames: z.optional(
    z.strictObject({
      prefix: z.optional(
        z.custom(
          (value) =>
            value === false || /^[A-Za-z0-9_-]+$/.test(typeof value === "string" ? value : ""),
          'must be false, or a text of letters, digits, "_" and "-"',
        ),
      ),
    }),
  ),
  providedArguments: z.optional(z.record(z.string(), providedArgument)),
  schemas: z.optional(someObject),
  capabilities: z.optional(someObject),
  client: z.optional(z.strictObject({ name: text, version: text })),
  onElicitation: z.optional(someFunction),
  approval: z.optional(
    z.union([flag, someFunction], "must be true, false or a function of the call"),
  ),
  onProgress: z.optional(someFunction),
};

/** The fields of `ConnectionTimeouts`, and `connectMs`, which each transport explains for itself. */
export const timeoutFields = {
  connectMs: z.optional(timeout),
  callMs: z.optional(
    z.union([z.literal(false), timeout], "must be a whole number of milliseconds, or false"),
  ),
  startMs: z.optional(timeout),
};

/** The fields of `SessionReplacementOptions`. */
export const replacementFields = {
  resend: z.optional(
    z.union(
      [z.literal(["safe", "always", "never"]), names, someFunction],
      'must be "safe", "always", "never", a list of tools or a function of a tool',
    ),
  ),
  onStart: z.optional(someFunction),
  lossNotice: z.optional(z.union([text, z.literal(false)], "must be a text, or false")),
  // A shorter age would give each step a session of its own.
  maxAgeMs: z.optional(wholeNumber(1_000, Number.MAX_SAFE_INTEGER, "milliseconds")),
  except: z.optional(names),
};

const limits = Object.entries(waitingLimitChecks).map(([name, check]) => [name, checkedBy(check)]);
const waitingSchema = z.union(
  [z.literal(true), optionalOptions(Object.fromEntries(limits) as Record<string, z.ZodMiniType>)],
  "must be true, or an object with known options",
);

const memorySchema = z.union(
  [z.literal("server"), z.strictObject({ pinMs: age })],
  'must be "server" or { pinMs: <milliseconds> }',
);

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
      onLoss: z.optional(
        z.literal(["replace", "retry", "report"], 'must be "replace", "retry" or "report"'),
      ),
      restartOnNewCapabilities: z.optional(flag),
    }),
  ],
  'must be "stateless", "stateful" or { mode: "stateful", … } with known options',
);

/** Checks `McpClientConnectionOptions`. */
export const clientConnectionSchema = z
  .strictObject({
    url: z.custom(
      (value) => /^https?:$/.test(parseUrl(value)?.protocol ?? ""),
      "must be an absolute http(s) URL",
    ),
    ...connectionFields,
    session: z.optional(sessionSchema),
    memory: z.optional(memorySchema),
    waiting: z.optional(waitingSchema),
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
    fetch: z.optional(someFunction),
  })
  .check(
    z.refine(({ auth, authProvider }) => auth === undefined || authProvider === undefined, {
      path: ["auth"],
      message: "cannot be combined with authProvider; keep the one that applies",
    }),
    z.refine(
      ({ waiting, onElicitation }) =>
        !onElicitation || !waitsForPerson(waiting as true | WaitingLimits),
      {
        path: ["waiting"],
        message:
          'cannot wait for a person beside onElicitation: either the call waits for an answer, or the function gives it within the step. Leave one out, or give for: ["task", "stream"]',
      },
    ),
    z.refine(({ url }) => !hasCredentials(parseUrl(url)), {
      path: ["url"],
      message: "must not contain credentials; use auth or headers",
    }),
  );

function waitsForPerson(waiting: true | WaitingLimits | undefined) {
  if (waiting === undefined) return false;
  return waiting === true || (waiting.for?.includes("person") ?? true);
}

function parseUrl(value: unknown): URL | undefined {
  return URL.canParse(String(value)) ? new URL(String(value)) : undefined;
}

function hasCredentials(url: URL | undefined): boolean {
  return Boolean(url?.username) || Boolean(url?.password);
}

/** Words of other packages, and what stands for them here. */
const hints = {
  transport:
    "is not an option: give url for Streamable HTTP, or declare a program with defineMcpStdioConnection",
  sessionId: "is not an option: the agent session is named when it is opened or run",
  input: "is called waiting: give waiting: true over HTTP",
  waiting:
    "is for servers over HTTP: a stdio server asks and works while its process runs, and onElicitation answers within the step",
  memory:
    "is for servers over HTTP: a stdio server's process is asked anew each time it starts, and asking costs no network",
  store: "is not an option of a connection: give it to createDurableSessions",
  "session.shared":
    "is for servers over HTTP: no other process finds the process of a stdio server. Put the server behind Streamable HTTP, or name the process with { named } of withConnections",
};

/**
 * Checks the options of a definition.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the field and how to fix it
 */
export function checkDefinition(schema: z.ZodMiniType, options: unknown): void {
  checkOptions(schema, options, { subject: "Connection option", hints });
}

/** Whether `fetch` accepts the name for a header. */
export function isHeaderName(name: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name);
}

/**
 * Whether `fetch` accepts the value in a header. Its error for other values repeats them, and they
 * may be secret.
 */
export function isHeaderValue(value: unknown): value is string {
  if (typeof value !== "string") return false;
  const normalized = value.replaceAll(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
  return /^[\t\x20-\x7E\x80-\xFF]*$/.test(normalized);
}
