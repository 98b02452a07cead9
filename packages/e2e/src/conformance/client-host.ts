import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { inspect } from "node:util";
import { programArguments } from "../processes/programs.ts";
import type { ClientName } from "./clients/index.ts";
import type { Mode } from "./program/modes.ts";
import { type ClientTask, runClient } from "./program/run-client.ts";

/** Runs the client of the suite's scenarios in this process, as often as the suite starts its command. */
export interface ClientHost extends AsyncDisposable {
  readonly command: string;
  /** The scenarios in which the client failed. */
  readonly failed: ReadonlySet<string>;
}

const relay = new URL("./program/relay-program.ts", import.meta.url);

/** Saves the loading of the clients in a process for every scenario. */
export async function startClientHost(
  client: ClientName,
  mode: Exclude<Mode, "process">,
): Promise<ClientHost> {
  const failed = new Set<string>();
  const server = createServer((request, response) => {
    void (async () => {
      const task = (await json(request)) as Omit<ClientTask, "client">;
      try {
        await runClient({ client, ...task }, mode);
        response.end();
      } catch (error) {
        failed.add(task.scenario);
        response.writeHead(500).end(inspect(error, { depth: 8 }));
      }
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    command: shellCommand(relay, String(port)),
    failed,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Runs a program of ours. With `exec` it takes the shell's place, so that it is what the suite ends. */
export function shellCommand(program: URL, ...args: string[]): string {
  const parts = [process.execPath, ...programArguments(program)];
  return ["exec", ...parts.map(quoted), ...args].join(" ");
}

function quoted(part: string): string {
  return `'${part.replaceAll("'", String.raw`'\''`)}'`;
}
