import { fork } from "node:child_process";
import { once } from "node:events";

/** Starts a server in a process of its own, which says its port and ends with its parent. */
export async function forkServer(program: URL) {
  const server = fork(program, { execArgv: ["--disable-warning=ExperimentalWarning"] });
  const [port] = await once(server, "message");
  return { origin: `http://127.0.0.1:${String(port)}`, stop: () => server.disconnect() };
}
