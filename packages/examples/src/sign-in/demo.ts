/**
 * `npm run demo:sign-in`: an agent meets an MCP server that wants a sign-in, and its process ends. The user signs in
 * with a real Chromium, and another process goes on. Then the access token expires, which two processes meet at once.
 * Beside it the AI SDK alone. `-- --json` is for programs.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { needChromium } from "../programs/find-chromium.ts";
import { createTemporaryFolder } from "../programs/temporary-folder.ts";
import { startAuthorizationServer } from "../servers/authorization-server.ts";
import { startLockedShop } from "../servers/locked-shop.ts";
import { startBrowser } from "./browser.ts";
import { firstPrompt } from "./order-turn.ts";
import { describeFigures, jsonOutput, type Library, tableOutput } from "./sign-in-output.ts";
import { createRun, type Happened, type SignInRun, sum } from "./sign-in-run.ts";

const { json } = parseArgs({ options: { json: { type: "boolean" } } }).values;
const output = json ? jsonOutput : tableOutput;

const executablePath = needChromium();
const folder = createTemporaryFolder();
// As far away as one on the Internet.
const authorization = await startAuthorizationServer({ latencyMs: 200 });
const shop = await startLockedShop(authorization);
const browser = await startBrowser(executablePath, folder);
const secret = () => randomBytes(32).toString("base64");
const env = { ...process.env, SEALING_KEY: secret(), COOKIE_SECRET: secret() };
const world = { authorization, shop, browser, env };

const model = process.env["DURABLE_MCP_MODEL"] || "scripted (DURABLE_MCP_MODEL names a real one)";
output.text(`An agent orders at a shop whose user has to sign in. The shop is an MCP server, and the other is its
authorization server: the HTTP requests to both are counted. Each step is a process that ends.
Language model: ${model}`);

output.title("With durable-mcp: the call waits in the store, and the tokens come to it.");
const kept = await createRun(
  { step: "step.ts", application: "application.ts" },
  { store: join(folder, "sessions.db"), chatId: "demo" },
  world,
);
// The conversation goes on by itself.
const met = await meet("durable-mcp", kept, { again: "" });

output.title(
  "With the AI SDK alone: what its client has its OAuthClientProvider keep is in a file.",
);
const alone = await createRun(
  { step: "step-without.ts", application: "application-without.ts" },
  { store: join(folder, "sign-in.json"), chatId: "demo" },
  world,
);
const metAlone = await meet("ai-sdk", alone, { again: firstPrompt });

output.text("      ✂ The access tokens expire. Then two processes order at once.");
output.title("With durable-mcp");
const atOnce = await orderAtOnce("durable-mcp", kept, met);
output.title("With the AI SDK alone");
const atOnceAlone = await orderAtOnce("ai-sdk", alone, metAlone);
await browser.close();
shop.close();
authorization.close();

const { registered, signedIn, revoked, orders, sessions } = sum([...met.all, atOnce]);
assert.deepEqual(
  { registered, signedIn, revoked, orders, sessions },
  { registered: 1, signedIn: 1, revoked: 0, orders: 3, sessions: 1 },
);
assert.equal(atOnce.refreshed, 1);
const end =
  atOnceAlone.revoked > 0
    ? `sent the same refresh token. The authorization server took
the second for a thief's and ended the grant: the user has to sign in again.`
    : `refreshed one after the other this time: the second found
what the first had saved.`;
output.text(`durable-mcp: ${describeFigures(sum([...met.all, atOnce]))}
AI SDK:      ${describeFigures(sum([...metAlone.all, atOnceAlone]))}

With durable-mcp one process refreshed the token, and the other one used what it got.
With the AI SDK alone both processes ${end}
`);

/** Steps 1 to 3: until the agent has ordered. */
async function meet(library: Library, run: SignInRun, { again }: { again: string }) {
  const file = join(folder, `${library}.json`);
  const all: Happened[] = [];
  const show = (happened: Happened) => {
    all.push(happened);
    output.happened(library, happened);
  };
  const start = performance.now();
  show(await run.steps(1, { prompt: firstPrompt, file }));
  const stepMs = performance.now() - start;
  // They live as long as a few steps, however fast this machine is.
  authorization.accessTokenSeconds = Math.ceil(Math.max(4, (4 * stepMs) / 1000));
  show(await run.signIn(2));
  show(await run.steps(3, { prompt: again, file }));
  assert.ok(authorization.expiresAt > 0);
  return { all, stepMs, expiresAt: authorization.expiresAt };
}

/** Step 4. */
async function orderAtOnce(
  library: Library,
  run: SignInRun,
  { expiresAt, stepMs }: { expiresAt: number; stepMs: number },
): Promise<Happened> {
  // Both programs have to be there before that.
  const startAt = Math.max(expiresAt, Date.now() + 2 * stepMs);
  const order = (item: string) => ({
    ...{ prompt: `Order ${item}.`, startAt, file: join(folder, `${library} ${item}.json`) },
  });
  const happened = await run.steps(4, order("honey"), order("milk"));
  output.happened(library, happened);
  return happened;
}
