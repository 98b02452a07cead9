import type { StoredRecord } from "@durable-mcp/core";
import { describeSnapshot } from "../slots/describe-snapshot.ts";
import { parseRecord, parseRecordKey } from "./session-record.ts";
import type { StoredSession } from "../slots/stored-session.ts";

/** What may be told of a record: everything but the MCP session's id. None for a key of something else. */
export function describeRecord(stored: StoredRecord): StoredSession[] {
  const parsed = parseRecordKey(stored.key);
  if (parsed === undefined) return [];
  const { agent: _, ...whose } = parsed;
  const { lastUsedAt } = stored;
  const record = parseRecord(stored.value);
  if (record === undefined) return [{ ...whose, kind: "invalid", lastUsedAt }];
  const { snapshot, startedAt, idleTimeoutMs } = record;
  return [
    {
      ...whose,
      ...describeSnapshot(snapshot),
      lastUsedAt,
      ...(snapshot.kind === "session" && { startedAt }),
      ...(idleTimeoutMs !== undefined && { idleTimeoutMs }),
    },
  ];
}
