import type { LiveConnection } from "./live-connection.ts";
import type { McpConnection } from "../declare/mcp-connection.ts";

/** A connection of a run. It costs nothing before its first use. */
export interface RunConnection {
  readonly name: string;
  readonly definition: McpConnection;
  /** Made on first use. */
  readonly live: () => LiveConnection;
  /** Calls `use` with the live connection: now, or as soon as it is made. */
  readonly whenLive: (use: (connection: LiveConnection) => void) => void;
}

/** @param make called once, for the first use */
export function connectLater(
  name: string,
  definition: McpConnection,
  make: () => LiveConnection,
): RunConnection {
  let made: LiveConnection | undefined;
  let waiting: ((connection: LiveConnection) => void)[] | undefined;
  return {
    ...{ name, definition },
    live() {
      if (made !== undefined) return made;
      made = make();
      for (const use of waiting ?? []) use(made);
      return made;
    },
    whenLive(use) {
      if (made === undefined) (waiting ??= []).push(use);
      else use(made);
    },
  };
}
