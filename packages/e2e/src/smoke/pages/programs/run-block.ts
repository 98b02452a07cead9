// Runs a block of a page in the folder where it stands: `node run-block.ts <folder>`. The folder has block.json.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { callPort } from "./call-server.ts";
import { driveOf } from "./drives.ts";
import { createGiven } from "./given.ts";
import { provider } from "./model.ts";
import { prepareFiles, runShell } from "./run-shell.ts";
import { atHome, startWorld } from "./world.ts";

interface Block {
  /** Its file's name. */
  readonly name: string;
  readonly code: string;
  readonly given: string;
  readonly isShell: boolean;
  /** Programs of the page that a shell starts, by name. */
  readonly files: Readonly<Record<string, string>>;
}

const [folder = "."] = process.argv.slice(2);
const block = JSON.parse(readFileSync(join(folder, "block.json"), "utf8")) as Block;
process.chdir(folder);
const world = await startWorld();
Object.assign(globalThis, { AI_SDK_DEFAULT_PROVIDER: provider });
if (block.code.includes('"@openai/agents"')) await import("./agents-model.ts");
const given = createGiven(world, block.code);
const port = await freePort();
Object.assign(process.env, {
  ...{
    SEALING_KEY: Buffer.alloc(32, 7).toString("base64"),
    STATE_KEY: Buffer.alloc(32, 8).toString("base64"),
  },
  ...{ APPROVAL_SECRET: "a-secret-of-the-application", CRON_SECRET: "cron", GITHUB_TOKEN: "token" },
  ...{ ANTHROPIC_API_KEY: "key", SHOP_TOKEN: "token", SESSIONS_DB: "eve.db", EXAMPLE_KEY: "key" },
  CART_URL: world.open.url,
});
const home = (text: string) => atHome(text, world, port);

const looksBack = block.isShell && /sessions\.db|events\.jsonl/.test(block.code);
await prepareFiles(world, given, looksBack);
if (block.isShell) await runShell(home(block.code), block.files, home);
else if (block.code.includes('"node:test"')) runTest();
else await runModule();
console.log("The block has run.");
if (block.code.includes('"SIGTERM"')) {
  setTimeout(() => process.exit(1), 10_000);
  process.kill(process.pid, "SIGTERM");
} else process.exit(0);

async function runModule(): Promise<void> {
  const everything = home(`${block.given}\n${block.code}`);
  const declared = /^\s*(?:export )?declare (?:const|function) (\w+)([^]*?;\n)/gm;
  for (const [, name, type] of everything.matchAll(declared)) {
    if (name === "interruptId") continue;
    Object.assign(globalThis, { [name!]: await given.take(name!, type) });
  }
  const imports = block.given.match(/^import (?!type).*$/gm)?.join(" ") ?? "";
  const defined = /^(?:export )?(?:async )?(?:const|let|function|class) (\w+)/gm;
  const code = home(block.code);
  const names = [...code.matchAll(defined)].map(([, name]) => name);
  const file = join(process.cwd(), block.name);
  writeFileSync(
    file,
    `${imports} ${code}\nexport const everythingOfTheBlock = { ${names.join(", ")} };\n`,
  );
  if (/process\.argv/.test(code)) process.argv = [process.argv[0]!, file, ...argumentsOf(code)];
  const listens = code.includes(`listen(${port}`) && callPort(port, code);
  const { everythingOfTheBlock, ...exported } = await import(pathToFileURL(file).href);
  await listens;
  const values = Object.entries({ ...everythingOfTheBlock, ...exported });
  // What deletes comes after what it deletes.
  for (const [name, value] of values.toSorted(([one], [other]) => placeOf(one) - placeOf(other))) {
    // What is not exported and a function was called by the block itself, or is a part of it.
    if (typeof value === "function" && !(name in exported) && !("drain" in value)) continue;
    await driveOf(name, value, given)?.();
  }
}

function placeOf(name: string): number {
  return name === "DELETE" ? 1 : 0;
}

/** What a program of a page is started with, when no shell of the page does. */
function argumentsOf(code: string): string[] {
  if (code.includes("@durable-mcp/oauth")) return [world.locked.url];
  return code.includes("input") ? ["browser_snapshot", "{}"] : ["Look at the page."];
}

function runTest(): void {
  writeFileSync(block.name, block.code);
  const step = `export default async (url: string, { fetch }: { fetch: typeof globalThis.fetch }) => {
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "order", arguments: { item: "tea" } } };
  const { createMCPClient } = await import("@ai-sdk/mcp");
  const client = await createMCPClient({ transport: { type: "http", url, fetch } });
  return await client.callTool({ ...message.params });
};\n`;
  writeFileSync("step.ts", step);
  const { status } = spawnSync(process.execPath, ["--test", block.name], { stdio: "inherit" });
  if (status !== 0) process.exit(1);
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => probe.once("listening", resolve));
  const { port: free } = probe.address() as { port: number };
  await new Promise((resolve) => probe.close(resolve));
  return free;
}
