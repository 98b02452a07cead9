import { endProgram } from "../programs/start-program.ts";
import { startServer } from "../programs/start-server.ts";

/** The process of a chat. */
export interface ChatProcess {
  readonly port: () => number;
  /** The port for the next request of a page. */
  readonly nextPort: () => number;
  /** Kills it, and starts another one on its store. */
  readonly kill: () => Promise<void>;
  /** Stops it, and starts another one, which has every second request. */
  readonly freeze: () => Promise<void>;
  /** Kills what is frozen. */
  readonly endFrozen: () => Promise<void>;
}

export async function startChatProcess(path: string, tea: string): Promise<ChatProcess> {
  const program = new URL("chat-program.ts", import.meta.url);
  const start = async () => await startServer(program, undefined, path, tea);
  let running = await start();
  let frozen: typeof running | undefined;
  let requests = 0;
  return {
    port: () => running.port,
    nextPort: () => ((requests++ % 2 === 0 && frozen) || running).port,
    async kill() {
      await endProgram(running.child, "SIGKILL");
      running = await start();
    },
    async freeze() {
      running.child.kill("SIGSTOP");
      frozen = running;
      running = await start();
    },
    async endFrozen() {
      const ended = frozen && endProgram(frozen.child, "SIGKILL");
      frozen = undefined;
      await ended;
    },
  };
}
