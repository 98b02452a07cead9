import { type FixtureServer, startFixtureServer } from "./fixture-server.ts";

export interface NotebookServer extends FixtureServer {
  /** HTTP requests by method since this process started, and the sessions that live. */
  stats: () => Promise<{ requests: Record<string, number>; sessions: number }>;
}

/** Our server on SDK v1: notes per session, 404 to an unknown id, SSE answers unless `json`. */
export async function startNotebookServer(
  options: { json?: boolean } = {},
): Promise<NotebookServer> {
  const server = await startFixtureServer(
    "notebook",
    "notebook-server.ts",
    ...(options.json ? ["--json"] : []),
  );
  const statsUrl = new URL("/__stats", server.url);
  const stats: NotebookServer["stats"] = async () => (await fetch(statsUrl)).json() as never;
  return { ...server, stats };
}
