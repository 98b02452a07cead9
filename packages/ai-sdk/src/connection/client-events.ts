import { forwardConnection } from "./forward-connection.ts";
import type { LiveConnection } from "./live-connection.ts";

/**
 * A connection that no pool keeps. It tells whether the runs that use it found a live client, and when its
 * client was opened and closed.
 */
export function withClientEvents(connection: LiveConnection): LiveConnection {
  const { name, emit } = connection;
  let client: "none" | "wanted" | "open" | "failed" = "none";

  const miss = () => {
    client = "wanted";
    emit({ type: "client", connection: name, action: "miss" });
  };
  const opening = async <T>(open: () => Promise<T>): Promise<T> => {
    if (client === "none") miss();
    try {
      const opened = await open();
      if (client !== "open") emit({ type: "client", connection: name, action: "opened" });
      client = "open";
      return opened;
    } catch (error) {
      if (client === "wanted") client = "failed";
      throw error;
    }
  };

  return forwardConnection(() => connection, {
    client: async () => await opening(() => connection.client()),
    withKept: async (open) => await opening(() => connection.withKept(open)),
    probe: async (signal) => await opening(() => connection.probe(signal)),
    noteRun() {
      if (client === "none" || client === "failed") return miss();
      emit({ type: "client", connection: name, action: "hit" });
    },
    noteClosed(reason) {
      if (client === "open") emit({ type: "client", connection: name, action: "closed", reason });
      client = "none";
    },
  });
}
