/**
 * `npm run smoke:pages`: runs each block of the guides and READMEs that is a program, as a reader has it: from the
 * tarballs, in an empty folder with what the registry has. Its MCP servers, model and databases are at hand:
 * `programs/drives.ts` says for each kind of block what it means to run it. `-- <text> …` runs the pages whose
 * names hold one of these texts; `--share` what CI runs, with packages of this workspace for those of the registry;
 * `--keep` leaves the folder. Ends with 1 when a block failed.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { postgresUnavailable, startPostgres } from "../../../../stores/test/postgres-server.ts";
import { postgresUser } from "../../../../stores/test/postgres-user.ts";
import { redisUnavailable, startRedis } from "../../../../stores/test/redis-server.ts";
import { runCommand } from "../run-command.ts";
import { missingInstallations } from "./install-lines.ts";
import { type PageBlock, readPageBlocks } from "./page-blocks.ts";
import { installProject, linkProject, packPackages } from "./page-project.ts";

const root = fileURLToPath(new URL("../../../../../", import.meta.url));
const { values: options, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: { keep: { type: "boolean" }, share: { type: "boolean" } },
});
const folder = mkdtempSync(join(tmpdir(), "durable-mcp-pages-"));
process.once("exit", () => {
  if (options.keep) console.log(`The programs are in ${folder}`);
  else rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

const all = readPageBlocks(root);
const ofChoice = all.filter(
  ({ page }) => wanted.length === 0 || wanted.some((text) => page.includes(text)),
);
const notRun = ofChoice.filter((block) => block.notRun !== undefined);
const chosen = ofChoice.filter(
  (block) => block.notRun === undefined && (!options.share || isInShare(block)),
);
const problems = missingInstallations(all);
const projects = options.share ? ["all"] : [...new Set(chosen.map(projectOf))];
const packed = options.share ? undefined : packPackages(root, folder);
for (const name of projects) {
  const project = join(folder, name);
  mkdirSync(project);
  if (packed === undefined) linkProject(root, project);
  else await installProject(root, project, packed, name === "workflow");
}
const stopDatabases = await startDatabases();

let next = 0;
try {
  await Promise.all([work(), work()]);
} finally {
  await stopDatabases();
}
for (const problem of problems) console.log(`FAILED ${problem}`);
for (const { page, line, notRun: why } of notRun) console.log(`not run ${page}:${line} ${why}`);
console.log(
  `${chosen.length} blocks run, ${problems.length} failures, ${notRun.length} blocks cannot run`,
);
process.exitCode = problems.length === 0 ? 0 : 1;

/** The first code of each package, and the first program; without what has to be fetched. */
function isInShare({ page, code }: PageBlock): boolean {
  return (
    /README|getting-started|agents\/workflow/.test(page) &&
    !/npx (?!@durable-mcp)|@workflow\/ai/.test(code)
  );
}

/** The Workflow SDK has another release of the AI SDK. */
function projectOf({ page }: PageBlock): string {
  return !options.share && page.includes("workflow") ? "workflow" : "all";
}

async function work(): Promise<void> {
  for (let block = chosen[next++]; block !== undefined; block = chosen[next++]) {
    const place = `${block.page}:${block.line}`;
    const started = Date.now();
    const project = join(folder, projectOf(block));
    const own = join(project, place.replaceAll(/\W/g, "-"));
    mkdirSync(own);
    writeFileSync(join(own, "package.json"), '{ "type": "module" }');
    writeFileSync(join(own, "block.json"), JSON.stringify(block));
    const run = ["pages/run-block.ts", own];
    const { isDone, output } = await runCommand(project, process.execPath, run);
    const isRun = isDone && output.includes("The block has run.");
    if (!isRun)
      problems.push(`${place}\n    ${output.trim().split("\n").slice(-25).join("\n    ")}`);
    console.log(`${isRun ? "ok    " : "FAILED"} ${place} (${Date.now() - started} ms)`);
  }
}

/** @returns what ends them */
async function startDatabases(): Promise<() => Promise<void>> {
  const text = chosen.map(({ code }) => code).join("");
  const started: { remove(): Promise<void> }[] = [];
  if (text.includes("DATABASE_URL")) {
    if (postgresUnavailable) throw new Error(postgresUnavailable);
    const postgres = await startPostgres();
    started.push(postgres);
    process.env["DATABASE_URL"] =
      `postgres://${postgresUser}:any@127.0.0.1:${postgres.port}/postgres`;
  }
  if (text.includes("redis://")) {
    if (redisUnavailable) throw new Error(redisUnavailable);
    const redis = await startRedis();
    started.push(redis);
    process.env["REDIS_URL"] = `redis://127.0.0.1:${redis.port}`;
  }
  return async () => void (await Promise.all(started.map((server) => server.remove())));
}
