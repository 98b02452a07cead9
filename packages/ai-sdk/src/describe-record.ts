import type { StoredRecord } from "@durable-mcp/core";
import { parseRecord, parseRecordKey } from "./session-record.ts";
import type { StoredSession } from "./stored-session.ts";

/** What may be told of a record: everything but the MCP session's id. None for a key of something else. */
export function describeRecord(stored: StoredRecord): StoredSession[] {
  const name = parseRecordKey(stored.key);
  if (name === undefined) return [];
  const { sessionId, connection } = name;
  const { lastUsedAt } = stored;
  const record = parseRecord(stored.value);
  if (record === undefined) return [{ sessionId, connection, kind: "invalid", lastUsedAt }];
  const { snapshot, startedAt } = record;
  const entry = { sessionId, connection, kind: snapshot.kind, lastUsedAt };
  if (snapshot.kind !== "session") return [entry];
  const { protocolVersion, serverInfo } = snapshot.initializeResult;
  const { toolList } = snapshot;
  return [
    {
      ...entry,
      startedAt,
      protocolVersion,
      server: { name: serverInfo.name, version: serverInfo.version },
      ...(toolList && { tools: { count: toolList.tools.length, listedAt: toolList.listedAt } }),
    },
  ];
}
