import { invalid, type OptionGroup, waitingLimitChecks } from "@durable-mcp/core/internal";
import type { WaitingLimits } from "@durable-mcp/core/waiting";
import { McpSessionError } from "@durable-mcp/core";
import {
  checkOptions,
  isFunction,
  isJson,
  isPromise,
  type OptionFields,
  optionalOptions,
} from "../base/check-options.ts";
import { isSessionName, sessionNameRule } from "../base/session-name.ts";

const isPrefix = (value: unknown) =>
  value === false || (typeof value === "string" && /^[A-Za-z0-9_-]+$/.test(value));

/** Words of other packages, and what stands for them here. */
const elsewhere = {
  transport: {
    refused:
      "is not an option: give url for Streamable HTTP, or declare a program with defineMcpStdioConnection",
  },
  sessionId: {
    refused: "is not an option: the agent session is named when it is opened or run",
  },
  input: { refused: "is called waiting: give waiting: true over HTTP" },
  store: { refused: "is not an option of a connection: give it to createDurableSessions" },
};

/** The options of `ConnectionOptions`, and what none has. */
export const connectionFields: OptionFields = {
  required: "flag",
  tools: {
    either: [optionalOptions({}, { allow: "names" }), optionalOptions({}, { block: "names" })],
    is: "{ allow: string[] } or { block: string[] }",
  },
  toolNames: optionalOptions({
    prefix: { test: isPrefix, fix: 'must be false, or a text of letters, digits, "_" and "-"' },
  }),
  providedArguments: {
    record: {
      test: (value) => isFunction(value) || isJson(value),
      fix: "must be a JSON value, or a function that returns one",
    },
  },
  ...{ schemas: "object", capabilities: "object", onElicitation: "function" },
  client: optionalOptions({}, { name: "text", version: "text" }),
  approval: { either: ["flag", "function"], is: "true, false or a function of the call" },
  onProgress: "function",
  ...elsewhere,
};

/** The options of `ConnectionTimeouts`, and `connectMs`, which each transport explains for itself. */
export const timeoutFields: OptionFields = {
  ...{ connectMs: "ms", startMs: "ms" },
  callMs: { either: [{ oneOf: [false] }, "ms"], is: "a whole number of milliseconds, or false" },
};

/** The options of `SessionReplacementOptions`. */
export const replacementFields: OptionFields = {
  resend: {
    either: [{ oneOf: ["safe", "always", "never"] }, "names", "function"],
    is: '"safe", "always", "never", a list of tools or a function of a tool',
  },
  onStart: "function",
  lossNotice: { either: ["text", { oneOf: [false] }], is: "a text, or false" },
  // A shorter age would give each step a session of its own.
  maxAgeMs: [1_000],
  except: "names",
};

const session = optionalOptions(
  {
    shared: { test: isSessionName, fix: sessionNameRule },
    toolList: optionalOptions({ maxAgeMs: "age", maxLength: [0] }),
    ...replacementFields,
    ...{ classifyLoss: "function", restartOnNewCapabilities: "flag" },
    onLoss: { oneOf: ["replace", "retry", "report"] },
  },
  { mode: { test: (value) => value === "stateful", fix: 'is missing: give mode: "stateful"' } },
);

// It may have more, such as the routes of a sign-in.
const auth = {
  ...optionalOptions(
    { authorizationFor: "function", deleteAll: "function" },
    { getToken: "function" },
  ),
  isOpen: true,
};

/** Of `McpClientConnectionOptions`. */
const clientConnectionOptions = optionalOptions(
  {
    ...connectionFields,
    session: {
      either: [{ oneOf: ["stateless", "stateful"] }, session],
      is: '"stateless", "stateful" or { mode: "stateful", … } with known options',
    },
    memory: {
      either: [{ oneOf: ["server"] }, optionalOptions({}, { pinMs: "age" })],
      is: '"server" or { pinMs: <milliseconds> }',
    },
    waiting: {
      either: [{ oneOf: [true] }, { options: waitingLimitChecks }],
      is: "true, or an object with known options",
    },
    auth: { either: ["function", auth], is: "{ getToken }, or a function that returns a token" },
    authProvider: {
      test: (value) => isFunction(value) || isFunction(value?.tokens),
      fix: "must be an OAuthClientProvider or a function that returns one",
    },
    headers: {
      either: [
        "function",
        {
          record: {
            test: (value) => isHeaderValue(value) || isFunction(value) || isPromise(value),
            fix: "must be a string that is valid in a header, a promise of one, or a function that returns one",
          },
          name: { test: isHeaderName, fix: "must be an HTTP header name" },
        },
      ],
      is: "an object, or a function that returns one",
    },
    timeouts: optionalOptions({ ...timeoutFields, answerMs: "ms" }),
    fetch: "function",
  },
  {
    url: {
      test: (value) => /^https?:$/.test(parseUrl(value)?.protocol ?? ""),
      fix: "must be an absolute http(s) URL",
    },
    description: "text",
  },
);

/**
 * Checks the options of a definition over HTTP.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the field and how to fix it
 */
export function checkClientDefinition(options: {
  readonly url: unknown;
  readonly auth?: unknown;
  readonly authProvider?: unknown;
  readonly waiting?: true | WaitingLimits | undefined;
  readonly onElicitation?: unknown;
}): void {
  checkDefinition(clientConnectionOptions, options);
  const { auth: tokens, authProvider, waiting, onElicitation, url } = options;
  if (tokens !== undefined && authProvider !== undefined)
    throw refusal("auth", "cannot be combined with authProvider; keep the one that applies");
  if (onElicitation && waitsForPerson(waiting))
    throw refusal(
      "waiting",
      'cannot wait for a person beside onElicitation: either the call waits for an answer, or the function gives it within the step. Leave one out, or give for: ["task", "stream"]',
    );
  const { username, password } = parseUrl(url)!;
  if (username !== "" || password !== "")
    throw refusal("url", "must not contain credentials; use auth or headers");
}

const refusal = (field: string, fix: string) =>
  invalid(field, `Connection option ${field} ${fix}.`);

function waitsForPerson(waiting: true | WaitingLimits | undefined) {
  if (waiting === undefined) return false;
  return waiting === true || (waiting.for?.includes("person") ?? true);
}

function parseUrl(value: unknown): URL | undefined {
  return URL.canParse(String(value)) ? new URL(String(value)) : undefined;
}

/**
 * Checks the options of a definition.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the field and how to fix it
 */
export function checkDefinition(known: OptionGroup, options: object): void {
  try {
    checkOptions(known, options);
  } catch (error) {
    if (!McpSessionError.isInstance(error)) throw error;
    throw invalid(String(error.data.field), `Connection option ${error.message}`);
  }
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
