import { mkdirSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, isIP } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { oneLine, wait } from "@durable-mcp/core/internal";
import { createGateway } from "@durable-mcp/gateway";
import type { McpConnection } from "@durable-mcp/sessions";
import { toNodeHandler } from "@durable-mcp/server/node";
import { openStore } from "@durable-mcp/stores/open";
import type { Command } from "commander";
import { isDisabled, kindOf, unknownFields } from "../configuration/declared-server.ts";
import { readMcpJson } from "../configuration/mcp-json.ts";
import { CommandFailure, wrongUsage } from "../output/command-failure.ts";
import { print, tell } from "../output/print.ts";
import { connectionName } from "../probe/definition.ts";
import { loadDriver } from "../store/open-place.ts";
import { asked, listen } from "../serving/listen.ts";
import { claimPrograms } from "./claim-programs.ts";
import { createDoor } from "./door.ts";

interface GatewayCommandOptions {
  readonly store?: string;
  readonly port: number;
  readonly host: string;
  readonly allowHost?: readonly string[];
  readonly token?: true;
  readonly tokenEnv?: string;
  readonly variable?: readonly string[];
  readonly start?: true;
  readonly shared?: readonly string[];
}

/** What nobody has used for a day is ended, in milliseconds. It is looked for once in ten minutes. */
const idleForMs = 86_400_000;
const sweepMs = 600_000;
/** For calls under way at the end, in milliseconds. */
const drainMs = 30_000;

/** Serves a gateway until the process is asked to end. @throws {CommandFailure} */
export async function runGateway(
  path: string,
  options: GatewayCommandOptions,
  command: Command,
): Promise<void> {
  const { host, port, allowHost = [] } = options;
  const shared = options.shared?.map(addressOf) ?? [];
  const connections = await readConnections(path, options, command);
  const hasPrograms = checkPrograms(connections, shared, options);
  const door = createDoor(options);
  const address = options.store ?? ownStore();
  const claim = hasPrograms ? await claimPrograms(address) : undefined;
  const opened = await openStore(address, {
    loadDriver: (name) => loadDriver(name, name),
  });
  const gateway = createGateway({
    ...{ connections, store: opened.store, sharedPrograms: shared },
    processes: isOwnFile(options) ? "one" : "many",
    principal: (request) => (door.admits(request) ? { type: "app" } : undefined),
    allowedHosts: ["localhost", "127.0.0.1", "[::1]", ...allowHost],
  });
  const serve = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    if (pathname === "/health") return Response.json({ status: "ok" });
    if (/^\/mcp\/[^/]+$/.test(pathname)) return await gateway.fetch(request);
    return new Response("Each server is at /mcp/<its name>.\n", { status: 404 });
  };
  const server = createServer(toNodeHandler(serve));
  const ending = asked();
  await listen(server, port, host);
  const { port: own } = server.address() as AddressInfo;
  const origin = `http://${isIP(host) === 6 ? `[${host}]` : host}:${own}`;
  for (const name of Object.keys(connections)) print(command, `${origin}/mcp/${name}${door.query}`);
  const over = new AbortController();
  void sweepUntil(over.signal, async () => {
    await gateway.sweep({ idleForMs }).catch(({ message }: Error) => tell(command, message));
  });
  await ending;
  over.abort("over");
  server.close();
  await gateway.shutdown({ timeoutMs: drainMs });
  server.closeAllConnections();
  await opened.close();
  claim?.close();
}

/** Whether the store is a file, which one process has. */
const isOwnFile = ({ store = "file:" }: GatewayCommandOptions) => store.startsWith("file:");

/** @returns whether there are any. @throws {CommandFailure} for programs where several processes may have the store */
function checkPrograms(
  connections: Readonly<Record<string, McpConnection>>,
  shared: readonly string[],
  options: GatewayCommandOptions,
): boolean {
  const isProgram = (name: string) => connections[name]?.type === "mcp-stdio";
  const [program] = Object.keys(connections).filter(isProgram);
  if (program !== undefined && !isOwnFile(options))
    throw wrongUsage(
      `--store: ${program} is a program, which lives in one process, and several may have this store. Use file:PATH, or take ${program} out of the file.`,
    );
  const stranger = shared.find((name) => !isProgram(name));
  if (stranger !== undefined)
    throw wrongUsage(`--shared: the file has no program ${oneLine(stranger, 60)} that is started.`);
  return program !== undefined;
}

/** The servers of the file that a gateway can stand before. What is wrong with the others is said. */
async function readConnections(path: string, options: GatewayCommandOptions, command: Command) {
  const declared = await readMcpJson(path, options);
  const entries = declared.filter((server) => !isDisabled(server));
  const connections: Record<string, McpConnection> = {};
  const names = new Map<string, string>();
  for (const server of entries) {
    const { name, connection, problem } = server;
    const unknown = oneLine(unknownFields(server).join(", "), 200);
    if (unknown !== "")
      tell(
        command,
        `${name}: left aside are ${unknown}, which no entry with a ${kindOf(server)} has.`,
      );
    const address = addressOf(name);
    const other = names.get(address.toLowerCase());
    const ofName =
      address === "" ? noAddress : other && `${other} has the address /mcp/${address}: rename one.`;
    if (connection === undefined || ofName !== undefined)
      tell(command, `${name} is left out. ${problem ?? ofName}`);
    else {
      names.set(address.toLowerCase(), name);
      connections[address] = connection;
    }
  }
  if (names.size > 0) return connections;
  throw new CommandFailure("The file has no server that can be used.");
}

const noAddress = "Its name makes no address: give it one with letters a-z.";

/** The last part of an entry's address. Names in files have capitals, spaces, scopes. */
function addressOf(name: string): string {
  if (connectionName.test(name)) return name;
  const parts = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  return parts.replaceAll(/^[^a-z]+|-$/g, "");
}

/** A file of the user's own. */
function ownStore(): string {
  const state = process.env["XDG_STATE_HOME"] || join(homedir(), ".local", "state");
  const folder = join(state, "durable-mcp");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return `file:${join(folder, "gateway.db")}`;
}

async function sweepUntil(signal: AbortSignal, sweep: () => Promise<unknown>): Promise<void> {
  while (!signal.aborted) {
    // A store that is down is asked again.
    await sweep();
    await wait(sweepMs, signal).catch(() => undefined);
  }
}
