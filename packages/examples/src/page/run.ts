/**
 * `npm run lab -- page`: brings the page of a chat into each situation, and there into each trouble: a proxy cuts, delays and answers
 * 502, the browser goes offline, processes are killed or frozen. `--share`: some of them; `--only <text>`: those with it in their name.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";
import { rolldown } from "rolldown";
import { needChromium } from "../programs/find-chromium.ts";
import { createTemporaryFolder } from "../programs/temporary-folder.ts";
import { startChatProcess } from "./chat-process.ts";
import { drivePage } from "./drive-page.ts";
import { situations, troubles } from "./situations.ts";
import { startTeaHouse } from "./tea-house.ts";

type Case = readonly [situation: string, trouble: string];

const { share, only } = parseArgs({
  options: { share: { type: "boolean" }, only: { type: "string", default: "" } },
}).values;
const executablePath = needChromium();

const shared: Case[] = [
  ["before its first read", "the proxy answers 502"],
  ["as its user says something", "the proxy answers 502"],
  ["as its user says something", "answers are lost"],
  ["while it reads an answer", "the browser is offline"],
  ["while it follows another page", "the proxy answers 502"],
  ["while another page answers", "the browser is offline"],
  ["while it reads an answer", "its process is killed"],
  ["while a tool works", "its process is killed behind a proxy that tells nobody"],
  ["while it reads an answer", "its process is frozen behind a proxy that takes turns"],
];
const every = Object.keys(situations).flatMap((situation) =>
  Object.keys(troubles).map((trouble) => [situation, trouble] as const),
);
const cases = (share ? shared : every).filter((names) => names.join(", ").includes(only));

const folder = createTemporaryFolder();
const tea = await startTeaHouse();
const [browser, script, chat, mortal] = await Promise.all([
  chromium.launch({ executablePath, args: ["--no-sandbox"] }),
  bundlePage(),
  startChatProcess(join(folder, "chats.db"), tea.url),
  startChatProcess(join(folder, "mortal.db"), tea.url),
]);
const fileOf = (path: string) =>
  path.endsWith(".js")
    ? script
    : '<!doctype html><title>Chat</title><script type="module" src="/page.js"></script>';

let failed = 0;
async function drive(all: Case[], use: typeof chat): Promise<void> {
  for (let next = all.shift(); next !== undefined; next = all.shift()) {
    const startedAt = Date.now();
    const end = await drivePage(
      { browser, chat: use, tea, fileOf },
      next,
      cases.indexOf(next),
    ).then(
      () => "ok",
      (error: Error) => `FAILED ${error.message}`,
    );
    if (end !== "ok") failed += 1;
    const seconds = ((Date.now() - startedAt) / 1_000).toFixed(1);
    console.log(`${seconds.padStart(5)} s  ${next.join(", ")}: ${end}`);
  }
}

const isKill = ([, trouble]: Case) => troubles[trouble]?.isKill === true;
const others = cases.filter((names) => !isKill(names));
await Promise.all([
  drive(cases.filter(isKill), mortal),
  ...Array.from({ length: 5 }, async () => await drive(others, chat)),
]);
await browser.close();
console.log(`${cases.length - failed} pages of ${cases.length} ended as they should`);
process.exit(failed > 0 ? 1 : 0);

async function bundlePage(): Promise<string> {
  const bundle = await rolldown({
    input: fileURLToPath(new URL("../../../react/test/drive-page.tsx", import.meta.url)),
    resolve: { conditionNames: ["@durable-mcp/source", "import", "browser", "default"] },
    transform: { define: { "process.env.NODE_ENV": '"development"' } },
    logLevel: "silent",
  });
  const { output } = await bundle.generate({ format: "esm", codeSplitting: false });
  return output[0].code;
}
