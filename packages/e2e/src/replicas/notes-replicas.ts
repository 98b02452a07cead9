import { programArguments } from "../processes/programs.ts";
import { startSdkExampleServer } from "../servers/sdk-example.ts";
import { startServerProcess } from "../servers/server-process.ts";
import type { ReplicatedServer } from "./killed-replicas-run.ts";

const script = new URL("../../../examples/src/servers/notes-server.ts", import.meta.url);

/** The example server on `@durable-mcp/server`, from source; `store` as its command line takes it. */
export function notesServer(store: string): ReplicatedServer {
  return {
    name: "notes on @durable-mcp/server",
    startReplica: () =>
      startServerProcess({
        name: "notes",
        args: (port) => [...programArguments(script), String(port), store],
      }),
    waitsInServer: true,
    call: (text, delayMs) => ["add_note", { text, delayMs }],
    readNotes: async (client) => {
      const { text } = await client.callTool("search_notes", { text: "<" });
      return text === "" ? [] : text.split("\n");
    },
  };
}

/** The official SDK's own example, which keeps nothing but the session. */
export const sdkExample: ReplicatedServer = {
  name: "SDK v1 simpleStreamableHttp",
  startReplica: startSdkExampleServer,
  waitsInServer: false,
  call: (name) => ["greet", { name }],
};
