import * as z from "zod/mini";
import {
  checkOptions,
  flag,
  isFunction,
  isJson,
  names,
  someFunction,
  someObject,
  text,
  timeout,
  wholeNumber,
} from "../base/check-options.ts";

// The parts of the definitions' schemas.

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
        z.union(
          [z.literal(false), z.string().check(z.regex(/^[A-Za-z0-9_-]+$/))],
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

/** Words of other packages, and what stands for them here. */
const hints = {
  transport:
    "is not an option: give url for Streamable HTTP, or declare a program with defineMcpStdioConnection",
  sessionId: "is not an option: the agent session is named when it is opened or run",
  input:
    "is for servers over HTTP that have no sessions: a stdio server asks while its process runs, and onElicitation answers within the step",
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
