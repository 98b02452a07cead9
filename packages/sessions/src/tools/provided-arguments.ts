import { McpSessionError } from "@durable-mcp/core";
import { anySignal, isRecord } from "@durable-mcp/core/internal";
import { isJson } from "../base/check-options.ts";
import type { ToolOptions } from "../declare/tool-options.ts";
import type { UsedConnection } from "../connection/used-connection.ts";
import { runOver } from "../events/connection-error.ts";

type Provides = Pick<ToolOptions<any, any>, "providedArguments">;

/**
 * Adds the application's arguments to a call's input, in place of the model's. Functions are called, each
 * once, and have as long as a handshake.
 *
 * @returns the arguments to send, and the texts in them that nobody else may read
 * @throws {McpSessionError} `CONNECTION_UNAVAILABLE` for a function that fails or takes too long,
 *   `CONNECTION_INVALID` for one that returns no JSON. Nothing was sent then
 */
export async function withProvided(
  connection: UsedConnection,
  { tool, input, toolCallId }: { tool: string; input: unknown; toolCallId: string | undefined },
  callers: AbortSignal | undefined,
): Promise<{ input: unknown; secrets: string[] }> {
  const { name, definition, principal, sessionId, abortSignal } = connection;
  const { providedArguments } = definition.options;
  if (providedArguments === undefined) return { input, secrets: [] };
  if (abortSignal.aborted) throw runOver(name);
  const signal = callers === undefined ? abortSignal : anySignal(callers, abortSignal);
  const context = { principal, connection: name, sessionId, tool, toolCallId };
  const asking = Object.entries(providedArguments).map(async ([argument, value]) => {
    const about = { connection: name, tool, field: `providedArguments.${argument}` };
    if (typeof value !== "function") return [argument, value] as const;
    let answer: unknown;
    try {
      answer = await connection.inConnectTime(signal, async (bounded) =>
        value({ ...context, abortSignal: bounded }),
      );
    } catch (cause) {
      signal.throwIfAborted();
      throw notProvided("CONNECTION_UNAVAILABLE", about, "failed; see the cause", cause);
    }
    if (isJson(answer)) return [argument, answer] as const;
    throw notProvided("CONNECTION_INVALID", about, "must return a JSON value");
  });
  const entries = await Promise.all(asking);
  return {
    input: { ...(isRecord(input) ? input : {}), ...Object.fromEntries(entries) },
    secrets: entries.flatMap(([, value]) => textsIn(value)),
  };
}

function notProvided(
  code: "CONNECTION_UNAVAILABLE" | "CONNECTION_INVALID",
  { connection, tool, field }: { connection: string; tool: string; field: string },
  problem: string,
  cause?: unknown,
): McpSessionError {
  const message = `Connection ${connection}: ${field} ${problem}. The call of ${tool} was not sent. The next one asks again.`;
  return new McpSessionError(code, message, { data: { field, connection }, cause });
}

/** The texts in the arguments of a sent call that nobody else may read: those that the application supplies. */
export function providedTexts({ providedArguments = {} }: Provides, sent: unknown): string[] {
  const own = isRecord(sent) ? sent : {};
  return Object.keys(providedArguments).flatMap((name) => textsIn(own[name]));
}

/** The texts and numbers of a JSON value. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string" || typeof value === "number") return [String(value)];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** A tool's JSON Schema for the model, without the arguments that the application supplies. */
export function withoutProvided<SCHEMA extends object>(
  { providedArguments }: Provides,
  schema: SCHEMA,
): SCHEMA {
  if (providedArguments === undefined) return schema;
  return omit(schema, new Set(Object.keys(providedArguments))) as SCHEMA;
}

/** Keywords whose schemas are about the same object. */
const alternatives = ["allOf", "anyOf", "oneOf"];
const conditions = ["if", "then", "else"];

function omit(schema: unknown, names: ReadonlySet<string>): unknown {
  if (!isRecord(schema)) return schema;
  const withoutNames = (value: object) =>
    Object.fromEntries(Object.entries(value).filter(([name]) => !names.has(name)));
  const others = (list: unknown) =>
    Array.isArray(list) ? list.filter((name) => !names.has(String(name))) : list;
  const entries = Object.entries(schema).map(([keyword, value]) => {
    if (keyword === "required") return [keyword, others(value)];
    if (keyword === "properties" && isRecord(value)) return [keyword, withoutNames(value)];
    if (keyword === "dependentRequired" && isRecord(value)) {
      const kept = Object.entries(withoutNames(value)).map(([name, list]) => [name, others(list)]);
      return [keyword, Object.fromEntries(kept)];
    }
    if (alternatives.includes(keyword) && Array.isArray(value)) {
      return [keyword, value.map((each) => omit(each, names))];
    }
    return [keyword, conditions.includes(keyword) ? omit(value, names) : value];
  });
  return Object.fromEntries(entries) as unknown;
}
