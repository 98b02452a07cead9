/**
 * `npm run lab -- agents [--client codex] [--through] [--named] [--write]`: runs coding agents and other clients from npm, with a scripted
 * model on loopback, before a server that forgets and before processes that are killed, directly and through a gateway.
 * `--through` leaves the first out. `--named` has each agent run and resume under one name, one after the other. `--write` writes docs/reports/clients.md. Exits with 1 when a client does not go on through the gateway.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { environment, table } from "../../compatibility/page-parts.ts";
import { codingAgents } from "./coding-agents.ts";
import { playNamed } from "./named.ts";
import { foreignClients, playDirectly, playThroughGateway, type Told, troubles } from "./play.ts";

const { values } = parseArgs({
  options: {
    client: { type: "string", default: "" },
    write: { type: "boolean", default: false },
    through: { type: "boolean", default: false },
    named: { type: "boolean", default: false },
  },
});
if (values.named) {
  const agents = codingAgents.filter(({ name }) => name.includes(values.client));
  const isOne = await playNamed(agents, (name, first, resumed, sessions) =>
    console.log(`${name}: notes ${first}, resumed ${resumed}; ${sessions} initialize`),
  );
  process.exit(isOne ? 0 : 1);
}
const rows: string[][] = [["client", "", ...troubles]];
const note = (name: string, way: string, told: Told) => {
  const row = [name, way, ...troubles.map((trouble) => told[trouble])];
  rows.push(row);
  console.log(`${new Date().toISOString().slice(11, 19)} ${row.join(" | ")}`);
};
for (const client of foreignClients.filter(({ name }) => name.includes(values.client))) {
  if (!values.through) note(client.name, "directly", await playDirectly(client));
  const told = await playThroughGateway(client);
  note(client.name, "gateway", told);
  if (Object.values(told).some((words) => !words.includes("goes on"))) process.exitCode = 1;
}
if (values.write) {
  const date = new Date().toISOString().slice(0, 10);
  const page = new URL("../../../../../docs/reports/clients.md", import.meta.url);
  writeFileSync(page, pageOf(date));
}
process.exit();

function pageOf(date: string): string {
  return `# Clients that nobody can change

Clients from npm, unchanged, in one run each, with a scripted model: what they do after a server has forgotten its sessions (it answers 404, or 400 "No valid session ID"), and after a process was killed with \`kill -9\` and another took its place, between two calls and in a call. Directly that is the server's process, and through the gateway all processes of the gateway. The server gives no event ids. "Told": the model reads that its session is gone. The Inspector's command line begins a session with each command, the Claude Agent SDK after [three broken streams](https://github.com/durable-mcp/durable-mcp/blob/main/findings/claude-agent-sdk-begins-a-session-after-three-broken-streams.sh) without an answered call: killed in a call, that depends on the run, and under a [name](../guides/gateway.md#a-session-with-a-name) both go on in the server's session. \`npm run lab -- agents --write\` makes this page.

${table(rows)}

${environment(
  date,
  foreignClients.map(({ name }) => name),
)}
`;
}
