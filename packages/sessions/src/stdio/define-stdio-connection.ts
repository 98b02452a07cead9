import * as z from "zod/mini";
import type { ClientOpener } from "../base/mcp-client.ts";
import { flag, someFunction, text, timeout } from "../base/check-options.ts";
import {
  checkDefinition,
  connectionFields,
  replacementFields,
  timeoutFields,
} from "../declare/connection-schemas.ts";
import type { ConnectionToolSchemas, ToolNamePrefix } from "../declare/tool-options.ts";
import {
  type McpStdioConnection,
  type McpStdioConnectionOptions,
  openConnection,
} from "../declare/stdio-connection-options.ts";
import { createStdioConnection } from "./stdio-connection.ts";

// The operating system ends a string at the first of these.
const argument = z
  .string("must be a string")
  .check(z.regex(/^[^\0]*$/, "must not contain a null character"));

const optionsSchema = z.strictObject({
  command: text.check(z.regex(/^[^\0]*$/, "must not contain a null character")),
  args: z.optional(z.array(argument, "must be a list of strings")),
  env: z.optional(
    z.record(
      z.string().check(z.regex(/^[^=\0]+$/, "must be the name of an environment variable")),
      z.union([argument, someFunction], "must be a string, or a function that returns one"),
    ),
  ),
  cwd: z.optional(text),
  reuse: z.optional(flag),
  ...connectionFields,
  session: z.optional(
    z.strictObject({
      ...replacementFields,
      onLoss: z.optional(z.literal(["replace", "report"], 'must be "replace" or "report"')),
    }),
  ),
  timeouts: z.optional(z.strictObject({ ...timeoutFields, closeMs: z.optional(timeout) })),
});

/**
 * Declares an MCP server that is a program on this machine and talks over its stdin and stdout.
 *
 * @param opener makes its clients
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the field and how to fix it
 */
export function defineMcpStdioConnection<
  const SCHEMAS extends ConnectionToolSchemas | undefined = undefined,
  const PREFIX extends ToolNamePrefix = undefined,
>(
  options: McpStdioConnectionOptions<SCHEMAS, PREFIX, any>,
  opener: ClientOpener,
): McpStdioConnection<SCHEMAS, PREFIX> {
  checkDefinition(optionsSchema, options);
  const own = Object.freeze({ ...options });
  return Object.freeze({
    type: "mcp-stdio",
    options: own,
    [openConnection]: (step) => createStdioConnection({ options: own, opener, ...step }),
  } satisfies McpStdioConnection<SCHEMAS, PREFIX>);
}
