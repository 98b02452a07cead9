import { type NotebookServer, startNotebookServer } from "../servers/notebook.ts";
import type { World } from "./fault.ts";
import { createFaultyProxy, type FaultyProxy } from "@durable-mcp/testing";

/** A notebook server, and a front before it that can misbehave. */
export interface ServerWorld extends World {
  readonly server: NotebookServer;
  readonly front: FaultyProxy;
}

export async function openServerWorld(): Promise<ServerWorld> {
  const server = await startNotebookServer();
  const front = await createFaultyProxy({ target: server.url });
  return {
    server,
    front,
    evidence: { runs: server.runs, arrived: sawAt(front) },
    async close() {
      await front.close();
      await server.stop();
    },
  };
}

/** Whether a `tools/call` with a text arrived. */
export const sawAt =
  ({ requests }: FaultyProxy) =>
  (text: string): boolean =>
    requests.some(
      ({ rpcMethod, message }) =>
        rpcMethod === "tools/call" && JSON.stringify(message).includes(text),
    );
