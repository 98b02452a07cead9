import type { ClientOpener } from "../base/mcp-client.ts";
import { optionalOptions } from "../base/check-options.ts";
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
  startProgram,
} from "../declare/stdio-connection-options.ts";
import { openProgram } from "./open-program.ts";
import { createStdioConnection } from "./stdio-connection.ts";

// The operating system ends a string at the first null character.
const isWhole = (value: unknown) => typeof value === "string" && !value.includes("\0");
const argument = { test: isWhole, fix: "must be a string without a null character" };

const stdioOptions = optionalOptions(
  {
    ...connectionFields,
    args: { list: argument, is: "a list of strings" },
    env: {
      record: {
        either: [argument, "function"],
        is: "a string without a null character, or a function that returns one",
      },
      name: {
        test: (name) => /^[^=\0]+$/.test(name),
        fix: "must be the name of an environment variable",
      },
    },
    ...{ cwd: "text", reuse: "flag" },
    session: optionalOptions({
      ...replacementFields,
      onLoss: { oneOf: ["replace", "report"] },
      shared: {
        refused:
          "is for servers over HTTP: no other process finds the process of a stdio server. Put the server behind Streamable HTTP, or name the process with { named } of withConnections",
      },
    }),
    timeouts: optionalOptions({ ...timeoutFields, closeMs: "ms" }),
    waiting: {
      refused:
        "is for servers over HTTP: a stdio server asks and works while its process runs, and onElicitation answers within the step",
    },
    memory: {
      refused:
        "is for servers over HTTP: a stdio server's process is asked anew each time it starts, and asking costs no network",
    },
  },
  {
    command: {
      test: (value) => isWhole(value) && value !== "",
      fix: "must be a non-empty string without a null character",
    },
    description: "text",
  },
);

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
  checkDefinition(stdioOptions, options);
  const own = Object.freeze({ ...options });
  return Object.freeze({
    type: "mcp-stdio",
    options: own,
    [openConnection]: (step) => createStdioConnection({ options: own, opener, ...step }),
    [startProgram]: async (use) => await openProgram(own, use),
  } satisfies McpStdioConnection<SCHEMAS, PREFIX>);
}
