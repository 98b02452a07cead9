/**
 * `npm run demo:chat`: a chat with a web page, served by two processes in turn that share one
 * SQLite file. `-- --port 3000` for a port of your choice, `-- --store postgres://…` or `redis://…`
 * for another store.
 */
import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startProgram } from "../programs/start-program.ts";
import { createTemporaryFolder } from "../programs/temporary-folder.ts";
import { findFreePort, waitForPort } from "../programs/wait-for-port.ts";
import { startRoundRobin } from "../servers/round-robin.ts";

const { port = "0", store = join(createTemporaryFolder(), "sessions.db") } = parseArgs({
  options: { port: { type: "string" }, store: { type: "string" } },
}).values;
const env = { ...process.env, CHAT_SECRET: randomBytes(32).toString("hex") };
const start = async (program: URL, args: (port: number) => string[]) => {
  const ownPort = await findFreePort();
  const run = () =>
    startProgram(program, args(ownPort), { env, stdio: ["ignore", "ignore", "inherit"] });
  const child = run();
  await waitForPort(ownPort);
  return { ownPort, run, child };
};
const startServer = async (file: string) => {
  const program = new URL(`../servers/${file}`, import.meta.url);
  const { ownPort } = await start(program, (own) => [String(own)]);
  return `http://127.0.0.1:${ownPort}/mcp`;
};

const urls = [await startServer("cart-server.ts"), await startServer("delivery-server.ts")];
const chatServer = new URL("chat-server.ts", import.meta.url);
const chats = [];
for (const name of ["1", "2"]) {
  const chat = await start(chatServer, (own) => [name, String(own), ...urls, store]);
  const startAgain = (child: ChildProcess) =>
    child.once("exit", (_code, signal) => signal === "SIGKILL" && startAgain(chat.run()));
  startAgain(chat.child);
  chats.push(chat);
}
const ports = chats.map(({ ownPort }) => ownPort);
const { port: ownPort } = await startRoundRobin(ports, Number(port));
console.log(`http://127.0.0.1:${ownPort}/
A chat, its shopping cart in an MCP session. Two processes answer in turn; each message shows which.
Say "add apples and bread", "remove bread", "what is in my cart?", "ship". Ctrl-C ends it.
Say "order tea" or "join", and the shop asks you something. Before you answer, kill both processes
with kill -9 ${chats.map(({ child }) => child.pid).join(" ")}: others take their place, and the question is still there.`);
