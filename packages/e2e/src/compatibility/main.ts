/**
 * `npm run compatibility`: runs every server of the matrix with every client and writes
 * `docs/compatibility.md`. `-- <name>` runs the servers whose name holds that text and writes nothing.
 * Ends with 1 when a server showed anything else than is recorded of it.
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { clientNames } from "../clients/index.ts";
import { installExtraPackages } from "./extra-packages.ts";
import { extraServers } from "./extra-servers.ts";
import { renderPage } from "./page.ts";
import { presentServers } from "./present-servers.ts";
import { type MatrixRow, visitServer } from "./visit-server.ts";

/** Some servers wait more than they work; two at a time keep two cores busy. */
const serversAtOnce = 2;

// Servers are stopped when this process exits, which a signal alone would not let it do.
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

const [wanted] = process.argv.slice(2);
installExtraPackages();

const servers = [
  ...presentServers.map((server) => ({ server, extra: false })),
  ...extraServers.map((server) => ({ server, extra: true })),
].filter(({ server }) => wanted === undefined || server.name.includes(wanted));
if (servers.length === 0) throw new Error(`no server of the matrix is named ${wanted}`);

const rows: MatrixRow[] = [];
const queue = [...servers.entries()];
await Promise.all(Array.from({ length: serversAtOnce }, work));

const surprises = rows.flatMap(({ report }) => report.surprises);
for (const surprise of surprises) console.error(`not as recorded: ${surprise}`);
const page = renderPage(rows, new Date().toISOString().slice(0, 10));
if (wanted === undefined) {
  writeFileSync(fileURLToPath(new URL("../../../../docs/compatibility.md", import.meta.url)), page);
  console.log(`docs/compatibility.md: ${rows.length} servers, ${surprises.length} surprises`);
} else console.log(page);
process.exitCode = surprises.length > 0 ? 1 : 0;

async function work(): Promise<void> {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const [index, { server, extra }] = next;
    const startedAt = Date.now();
    const report = await visitServer(server, clientNames).catch((error: unknown) => ({
      name: server.name,
      unavailable: "it did not start or gave no session",
      seen: new Map(),
      surprises: [`${server.name}: ${error instanceof Error ? error.message : String(error)}`],
    }));
    rows[index] = { server, report, extra };
    const seconds = Math.round((Date.now() - startedAt) / 1000);
    console.error(`${server.name}: ${report.unavailable ?? `${seconds} s`}`);
  }
}
