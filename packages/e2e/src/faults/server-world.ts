import { type NotebookServer, startNotebookServer } from "../servers/notebook.ts";
import type { World } from "./fault.ts";
import { type Front, startFront } from "../wire/front.ts";

/** A notebook server, and a front before it that can misbehave. */
export interface ServerWorld extends World {
  readonly server: NotebookServer;
  readonly front: Front;
}

export async function openServerWorld(): Promise<ServerWorld> {
  const server = await startNotebookServer();
  const front = await startFront(server.url);
  return {
    server,
    front,
    evidence: { runs: server.runs, arrived: front.saw },
    async close() {
      await front.close();
      await server.stop();
    },
  };
}
