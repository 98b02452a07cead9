import type { SessionSnapshot } from "@durable-mcp/core";
import type { StoredSession } from "./stored-session.ts";

/** What may be told of a session: everything but its id. */
export function describeSnapshot(
  snapshot: SessionSnapshot,
): Pick<StoredSession, "kind" | "protocolVersion" | "server" | "tools"> {
  const { kind } = snapshot;
  if (kind !== "session") return { kind };
  const { protocolVersion, serverInfo } = snapshot.initializeResult;
  const { toolList } = snapshot;
  return {
    kind,
    protocolVersion,
    server: { name: serverInfo.name, version: serverInfo.version },
    ...(toolList && { tools: { count: toolList.tools.length, listedAt: toolList.listedAt } }),
  };
}
