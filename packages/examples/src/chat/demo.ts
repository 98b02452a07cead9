/**
 * `npm run demo:chat`: a chat with a web page, served by two processes in turn that share one
 * SQLite file. `-- --port 3000` for a port of your choice, `-- --store postgres://…` or `redis://…`
 * for another store.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startRoundRobin } from "./round-robin.ts";
import { startProgram } from "../programs/start-program.ts";
import { createTemporaryFolder } from "../programs/temporary-folder.ts";
import { findFreePort, waitForPort } from "../programs/wait-for-port.ts";

const { port = "0", store = join(createTemporaryFolder(), "sessions.db") } = parseArgs({
  options: { port: { type: "string" }, store: { type: "string" } },
}).values;
const env = { ...process.env, CHAT_SECRET: randomBytes(32).toString("hex") };
const start = async (program: URL, args: (port: number) => string[]) => {
  const ownPort = await findFreePort();
  startProgram(program, args(ownPort), { env, stdio: ["ignore", "ignore", "inherit"] });
  await waitForPort(ownPort);
  return ownPort;
};

const cartPort = await start(new URL("../servers/cart-server.ts", import.meta.url), (own) => [
  String(own),
]);
const cartUrl = `http://127.0.0.1:${cartPort}/mcp`;
const chatPorts: number[] = [];
const chatServer = new URL("chat-server.ts", import.meta.url);
for (const name of ["1", "2"]) {
  chatPorts.push(await start(chatServer, (own) => [name, String(own), cartUrl, store]));
}
const ownPort = await startRoundRobin(chatPorts, Number(port));
console.log(`http://127.0.0.1:${ownPort}/
A chat, its shopping cart in an MCP session. Two processes answer in turn; each message shows which.
Say "add apples and bread", "remove bread", "what is in my cart?", "ship". Ctrl-C ends it.`);
