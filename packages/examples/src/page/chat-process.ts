import { endProgram } from "../programs/start-program.ts";
import { startServer } from "../programs/start-server.ts";

/** The process of a chat. */
export interface ChatProcess {
  readonly port: () => number;
  /** Kills it, and starts another one on its store. */
  readonly kill: () => Promise<void>;
}

export async function startChatProcess(path: string, tea: string): Promise<ChatProcess> {
  const program = new URL("chat-program.ts", import.meta.url);
  const start = async () => await startServer(program, undefined, path, tea);
  let running = await start();
  return {
    port: () => running.port,
    async kill() {
      await endProgram(running.child, "SIGKILL");
      running = await start();
    },
  };
}
