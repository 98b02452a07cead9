/**
 * `npm run demo:eve`: an eve agent in four turns. Its process is killed (`kill -9`) after each one and
 * started again. First with tools on durable sessions, then with eve's own connection to the same MCP
 * server. `-- --json` is for programs.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { cartServer, startServer } from "../../src/programs/start-server.ts";
import { createTemporaryFolder } from "../../src/programs/temporary-folder.ts";
import { findFreePort } from "../../src/programs/wait-for-port.ts";
import { startCountingProxy } from "../../src/servers/counting-proxy.ts";
import { cartTurns } from "../../src/steps/cart-turns.ts";
import { jsonOutput, tableOutput } from "../../src/steps/step-output.ts";
import { mcpSessions } from "../agent/lib/mcp-sessions.ts";
import { buildEve, createEveApp } from "./eve-app.ts";

if (Number.parseInt(process.versions.node, 10) < 24) throw new Error("eve needs Node 24.");

const { json } = parseArgs({ options: { json: { type: "boolean" } } }).values;
const output = json ? jsonOutput : tableOutput;

const folder = createTemporaryFolder();
const cart = await startCountingProxy((await startServer(cartServer)).url);
const env = { CART_URL: cart.url, SESSIONS_DB: join(folder, "sessions.db") };
await buildEve(env);
const eve = createEveApp(await findFreePort(), randomUUID(), folder, env);
Object.assign(process.env, env); // for mcpSessions() here

/** As `ownerOf` names the caller of the channel. */
const principal = { type: "user", issuer: "http-basic", id: "ada" } as const;

output.title(`An eve agent in four turns, a process each, its shopping cart in the memory of an MCP server.
Its tools are on durable sessions.`);
const durable = await playTurns("durable-mcp", {});
assert.equal(durable.sessions, 1);
assert.equal(durable.text, "The cart holds apples, milk.");
assert.equal(durable.ended, 1);
output.closing("One MCP session for all. It was ended when the eve session was.");

output.title("The same with eve's own connection.");
const without = await playTurns("eve", { WITHOUT_CART: "1" });
assert.equal(without.sessions, 5);
assert.equal(without.text, "The cart is empty.");
assert.equal(without.ended, 0);
output.closing(
  `${without.sessions} MCP sessions, one for each step that made a call. None was ended.`,
);
await cart.close();
process.exit();

/** One eve session; the figures are of the MCP server. */
async function playTurns(by: string, more: NodeJS.ProcessEnv) {
  const start = { ...cart.counts };
  const since = (method: string) => (cart.counts[method] ?? 0) - (start[method] ?? 0);
  let eveSession: Awaited<ReturnType<typeof eve.client.sessions.create>>["session"] | undefined;
  let text = "";
  for (const [index, { prompt, calls }] of cartTurns.slice(0, 4).entries()) {
    const pid = await eve.start(more);
    const [sessionsBefore, requestsBefore] = [since("initialize"), total()];
    eveSession ??= (await eve.client.sessions.create()).session;
    const response = await eveSession.send(prompt);
    text = (await response.result()).message ?? "";
    const session = since("initialize");
    const resumed = session === sessionsBefore;
    const requests = total() - requestsBefore;
    output.step(
      { step: index + 1, pid, session, resumed, recovered: false, calls, requests, text },
      { by },
    );
    if (index < 3) await eve.kill();
  }
  // eve 0.80.1 calls no hook when a session is reset, so who resets it ends its MCP sessions.
  const { sessionId } = eveSession!.state;
  await eveSession!.reset();
  await mcpSessions().end(sessionId, { principal });
  await eve.kill();
  return { sessions: since("initialize"), ended: since("DELETE"), text };
}

function total(): number {
  return Object.values(cart.counts).reduce((sum, count) => sum + count, 0);
}
