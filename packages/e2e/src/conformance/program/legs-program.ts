/**
 * The client that the suite starts for revision 2026-07-28: `legs-program.ts <client> <url>`, the
 * scenario in the environment. It starts itself once for each leg, with `--leg <n> <store>` before
 * the URL: the legs share the store's file and nothing else. A leg that fails does not keep the later ones
 * from running, so that the suite sees all that the client does.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { type LegClientName, loadLegClient } from "../any-client.ts";
import { type LegContext, scenarioLegs } from "../legs/scenario-legs.ts";
import { startAgain } from "./start-again.ts";

const [client, ...rest] = process.argv.slice(2) as [LegClientName, ...string[]];
const url = rest.at(-1) ?? "";

const context = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as LegContext;
const legs = scenarioLegs(process.env["MCP_CONFORMANCE_SCENARIO"] ?? "", context);

try {
  const [flag, index, storePath = ""] = rest;
  if (flag === "--leg") await runLeg(Number(index), storePath);
  else await runEachInItsProcess();
} catch (error) {
  console.error(inspect(error, { depth: 8 }));
  process.exitCode = 1;
}

async function runEachInItsProcess(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-legs-"));
  try {
    for (const index of legs.keys()) {
      const storePath = join(folder, "store.db");
      const { ended } = await startAgain([client, "--leg", String(index), storePath, url]);
      if (ended === 0) continue;
      if (typeof ended === "string") throw new Error(`leg ${index + 1} was ended by ${ended}`);
      console.error(`leg ${index + 1} failed with ${ended}`);
      process.exitCode = 1;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runLeg(index: number, storePath: string): Promise<void> {
  const leg = legs[index];
  if (leg === undefined) throw new Error(`the scenario has no leg ${index}`);
  const open = await loadLegClient(client);
  const opened = await open({ url, storePath });
  try {
    await leg(opened);
  } finally {
    await opened.close();
  }
}
