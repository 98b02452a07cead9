import type { Principal } from "@durable-mcp/core";
import type { FoundRow } from "../records/stored-session.ts";
import { hashOwner } from "./state-handle.ts";

/** Whose the tasks of a session are. Anonymous clients are not told apart, so that theirs are the session's. */
export async function scopeOf({ hash, record }: FoundRow, { type }: Principal): Promise<string> {
  return type === "anonymous" ? hash : await hashOwner(record.owner);
}
