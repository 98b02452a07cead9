import { McpSessionError } from "@durable-mcp/core";
import * as z from "zod/mini";

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
  // The issue of a key only tells that it is invalid. The inner issue tells why.
  const reason = issue?.code === "invalid_key" ? issue.issues[0]?.message : issue?.message;
  const fix = unknownKey === undefined ? (reason ?? "is invalid") : "is not a known option";
  throw new McpSessionError("CONNECTION_INVALID", `Connection option ${field} ${fix}.`, {
    data: { field },
  });
}
