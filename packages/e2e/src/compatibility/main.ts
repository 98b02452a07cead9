/**
 * `npm run lab -- compatibility`: runs every server of both matrices with every client and writes
 * `docs/reports/compatibility.md`. `-- --asking` runs those that ask a person, and writes their part of the page;
 * `-- --cold` counts the requests of cold steps, and writes theirs; `-- --lasting` runs those whose calls last.
 * `-- --probe` asks all servers with the probe of the command line alone, and writes nothing.
 * `-- <name>` runs the servers whose name holds that text and writes nothing.
 * Ends with 1 when a server showed anything else than is recorded of it.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { clientNames } from "../clients/index.ts";
import { renderAskingServers } from "./asking-page.ts";
import { askingServers } from "./asking-servers.ts";
import { renderColdSteps } from "./cold-page.ts";
import { coldAskingServer, type ColdRow, coldServer, visitCold } from "./cold-steps.ts";
import { installExtraPackages } from "./extra-packages.ts";
import { extraServers, withoutIds } from "./extra-servers.ts";
import { renderLastingServers } from "./lasting-page.ts";
import { lastingServers } from "./lasting-servers.ts";
import { type LastingRow, visitLastingServer } from "./visit-lasting-server.ts";
import { renderPage } from "./page.ts";
import { replacePart } from "./page-parts.ts";
import { presentServers } from "./present-servers.ts";
import { type AskingRow, visitAskingServer } from "./visit-asking-server.ts";
import { probeOther } from "./probe-servers.ts";
import { type MatrixRow, visitServer } from "./visit-server.ts";

/** Some servers wait more than they work; two at a time keep two cores busy. */
const serversAtOnce = 2;

// Servers are stopped when this process exits, which a signal alone would not let it do.
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

const [argument] = process.argv.slice(2);
const onlyAsking = argument === "--asking";
const onlyCold = argument === "--cold";
const onlyLasting = argument === "--lasting";
const onlyProbe = argument === "--probe";
const wanted = onlyAsking || onlyCold || onlyLasting || onlyProbe ? undefined : argument;
await installExtraPackages();

const isWanted = ({ name }: { name: string }) => wanted === undefined || name.includes(wanted);
const rows: MatrixRow[] = [];
const askingRows: AskingRow[] = [];
const coldRows: ColdRow[] = [];
const lastingRows: LastingRow[] = [];
const matrix = [...presentServers, ...extraServers];
const coldServers = [
  ...matrix.flatMap((server) => coldServer(server) ?? []),
  ...withoutIds,
  ...askingServers.map(coldAskingServer),
];
const surprises: string[] = [];
const probes = [...matrix, ...withoutIds, ...askingServers].map((server) => ({
  name: `${server.name}, probe`,
  visit: async () => {
    const seen = await ("kind" in server ? visitServer(server, []) : probeOther(server)).catch(
      (error: unknown) => [failureOf(server.name, error)],
    );
    return "surprises" in seen ? seen : { surprises: seen };
  },
}));
const probeCount = probes.length;
const visits = onlyProbe
  ? probes
  : [
      ...(onlyAsking || onlyCold || onlyLasting ? [] : matrix)
        .filter(isWanted)
        .map((server, index) => ({
          name: server.name,
          visit: async () => {
            const extra = extraServers.includes(server);
            const report = await visitServer(server, clientNames).catch((error: unknown) => ({
              ...{ name: server.name, seen: new Map(), surprises: [failureOf(server.name, error)] },
              unavailable: "it did not start or gave no session",
            }));
            rows[index] = { server, report, extra };
            return report;
          },
        })),
      ...(onlyCold || onlyLasting ? [] : askingServers).filter(isWanted).map((server, index) => ({
        name: server.name,
        visit: async () => {
          const row = await visitAskingServer(server).catch((error: unknown) => ({
            ...{ server, seen: new Map(), surprises: [failureOf(server.name, error)] },
            unavailable: "it did not start or did not ask",
          }));
          askingRows[index] = row;
          return row;
        },
      })),
      ...(onlyAsking || onlyCold ? [] : lastingServers).filter(isWanted).map((server, index) => ({
        name: `${server.name}, calls that last`,
        visit: async () => {
          const row = await visitLastingServer(server).catch((error: unknown) => ({
            ...{ server, seen: new Map(), surprises: [failureOf(server.name, error)] },
            unavailable: "it did not start",
          }));
          lastingRows[index] = row;
          return row;
        },
      })),
      ...(onlyAsking || onlyLasting ? [] : coldServers).filter(isWanted).map((server, index) => ({
        name: `${server.name}, cold steps`,
        visit: async () => {
          const row = await visitCold(server).catch((error: unknown) => ({
            ...{ name: server.name, requests: {}, surprises: [failureOf(server.name, error)] },
            unavailable: "it did not start",
          }));
          coldRows[index] = row;
          return row;
        },
      })),
    ];
if (visits.length === 0) throw new Error(`no server of the matrix is named ${wanted}`);
await Promise.all(Array.from({ length: serversAtOnce }, work));

const date = new Date().toISOString().slice(0, 10);
const asking = askingRows.length === 0 ? "" : renderAskingServers(askingRows, date);
const pageFile = new URL("../../../../docs/reports/compatibility.md", import.meta.url);
const cold = coldRows.length === 0 ? "" : renderColdSteps(coldRows, date);
const lasting = lastingRows.length === 0 ? "" : renderLastingServers(lastingRows, date);
const page = rewritePage();
if (onlyProbe) console.log(`${probeCount} servers, ${surprises.length} surprises`);
else if (wanted === undefined) {
  writeFileSync(pageFile, page);
  const servers = Math.max(
    rows.length + askingRows.length,
    ...[coldRows.length, lastingRows.length],
  );
  console.log(`docs/reports/compatibility.md: ${servers} servers, ${surprises.length} surprises`);
} else console.log(page);
process.exitCode = surprises.length > 0 ? 1 : 0;

async function work(): Promise<void> {
  for (let next = visits.shift(); next !== undefined; next = visits.shift()) {
    const startedAt = Date.now();
    const seen: { unavailable?: string; surprises: string[] } = await next.visit();
    const seconds = Math.round((Date.now() - startedAt) / 1000);
    console.error(`${next.name}: ${seen.unavailable ?? `${seconds} s`}`);
    for (const surprise of seen.surprises) console.error(`not as recorded: ${surprise}`);
    surprises.push(...seen.surprises);
  }
}

function rewritePage(): string {
  if (onlyAsking) return replacePart(readFileSync(pageFile, "utf8"), asking, "## Every server");
  if (onlyLasting) return replacePart(readFileSync(pageFile, "utf8"), lasting, "## Every server");
  if (onlyCold) return replacePart(readFileSync(pageFile, "utf8"), cold, "## What does not work");
  return renderPage(rows, { cold, asking, lasting }, date);
}

function failureOf(name: string, error: unknown): string {
  return `${name}: ${error instanceof Error ? error.message : String(error)}`;
}
