import { type FixtureServer, startFixtureServer } from "./fixture-server.ts";

export interface NotebookServer extends FixtureServer {
  /**
   * Since this process started: HTTP requests by method, sessions that live, calls by note; and how
   * many connections are open, the asker's own with them.
   */
  stats: () => Promise<{
    requests: Record<string, number>;
    sessions: number;
    notesAdded: Record<string, number>;
    connections: number;
  }>;
  /** Forgets all sessions, as a restart does. */
  forget: () => Promise<void>;
}

/** Our server on SDK v1: notes per session, 404 to an unknown id, SSE answers unless `json`, with ids if `events`. */
export async function startNotebookServer(
  options: { json?: boolean; events?: boolean | undefined } = {},
): Promise<NotebookServer> {
  const server = await startFixtureServer(
    "notebook",
    "notebook-server.ts",
    ...(options.json ? ["--json"] : []),
    ...(options.events ? ["--events"] : []),
  );
  const statsUrl = new URL("/__stats", server.url);
  const stats: NotebookServer["stats"] = async () => (await fetch(statsUrl)).json() as never;
  const forget = async () => {
    await fetch(new URL("/__forget", server.url), { method: "POST" });
  };
  return { ...server, stats, forget };
}
