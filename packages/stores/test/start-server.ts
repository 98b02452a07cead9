import { type ChildProcess, spawn, type SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** A database server in a folder of its own, on a port of 127.0.0.1. */
export interface DatabaseServer {
  readonly port: number;
  /** `kill -9`; what it had is still there when it starts again. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Ends it and deletes its data. */
  remove(): Promise<void>;
}

/** A port of 127.0.0.1 that nobody listens on. */
export async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}

/** Starts a server program, which ends with this process, and waits until it listens. */
export async function startServer(
  program: string,
  args: readonly string[],
  port: number,
  options: SpawnOptions = {},
): Promise<ChildProcess> {
  const child = spawn(program, args, { ...options, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-2_000);
  });
  const end = () => child.kill("SIGKILL");
  process.once("exit", end);
  child.once("exit", () => process.off("exit", end));
  for (const deadline = Date.now() + 30_000; !(await listens(port));) {
    if (child.exitCode !== null || child.signalCode !== null || Date.now() > deadline) {
      throw new Error(`${program} did not start: ${said}`);
    }
    await sleep(50);
  }
  return child;
}

export async function killServer(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
