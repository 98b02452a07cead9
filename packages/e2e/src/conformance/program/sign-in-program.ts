/**
 * The client that the suite starts for scenarios about authorization: `sign-in-program.ts <client> <url>`, the
 * scenario in the environment. It starts itself once for each part, with `--part <name>` before the URL: to list the
 * tools, to call one, and for each of the two routes of a sign-in. The parts share the store's file and nothing else.
 * The user's browser is this process. It ends with 0 when the scenario ended as it should.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { inspect, isDeepStrictEqual } from "node:util";
import type { SignInContext } from "../sign-in/create-scenario-oauth.ts";
import type { SignInClientName } from "../any-client.ts";
import type { PartInput, PartName, PartOutcome } from "../sign-in/run-part.ts";
import { startAgain } from "./start-again.ts";

const [client, ...rest] = process.argv.slice(2) as [SignInClientName, ...string[]];
const url = rest.at(-1) ?? "";
const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";

/** How a scenario ends for the agent and its user. */
interface Ending {
  /**
   * - `done`: the tools were listed, and one was called.
   * - `not-started`: the user's last sign-in did not begin, because the metadata is wrong.
   * - `not-finished`: its callback was refused.
   * - `failed`: the agent failed, and the user is not asked to sign in again.
   */
  readonly ended: "done" | "not-started" | "not-finished" | "failed";
  /** How often the user was asked to sign in. */
  readonly signIns: number;
}

/** How a scenario has to end, if not with one sign-in and a call. */
const endings: Readonly<Record<string, Ending>> = {
  "auth/resource-mismatch": { ended: "not-started", signIns: 1 },
  "auth/metadata-issuer-mismatch": { ended: "not-started", signIns: 1 },
  "auth/iss-supported-missing": { ended: "not-finished", signIns: 1 },
  "auth/iss-wrong-issuer": { ended: "not-finished", signIns: 1 },
  "auth/iss-unexpected": { ended: "not-finished", signIns: 1 },
  "auth/iss-normalized": { ended: "not-finished", signIns: 1 },
  "auth/scope-step-up": { ended: "done", signIns: 2 },
  "auth/scope-retry-limit": { ended: "failed", signIns: 2 },
  "auth/authorization-server-migration": { ended: "done", signIns: 2 },
  "auth/client-credentials-jwt": { ended: "done", signIns: 0 },
  "auth/client-credentials-basic": { ended: "done", signIns: 0 },
  "auth/enterprise-managed-authorization": { ended: "done", signIns: 0 },
  "auth/wif-jwt-bearer": { ended: "done", signIns: 0 },
};

/** More than any scenario needs. */
const maxSignIns = 5;

try {
  const [flag, name] = rest;
  if (flag === "--part") await runAsProcess(name as PartName);
  else await runEachInItsProcess();
} catch (error) {
  console.error(inspect(error, { depth: 8 }));
  process.exitCode = 1;
}

async function runAsProcess(name: PartName): Promise<void> {
  const context = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as SignInContext;
  const input = (await json(process.stdin)) as PartInput;
  // Only the parts need it, and it is large.
  const { runPart } = await import("../sign-in/run-part.ts");
  const outcome = await runPart({ name, client, scenario, context, url, ...input });
  process.stdout.write(JSON.stringify(outcome));
}

async function runEachInItsProcess(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-sign-in-"));
  const shared = {
    storePath: join(folder, "store.db"),
    key: randomBytes(32).toString("base64url"),
  };
  try {
    const ending = await goThrough((name, callbackUrl) =>
      startPart(name, { ...shared, callbackUrl }),
    );
    const expected = endings[scenario] ?? { ended: "done", signIns: 1 };
    if (!isDeepStrictEqual(ending, expected)) {
      throw new Error(`it ended with ${inspect(ending)}, and should with ${inspect(expected)}`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type StartPart = (name: PartName, callbackUrl?: string) => Promise<PartOutcome>;

/** An agent that lists tools and calls one, and a user who signs in whenever that is needed. */
async function goThrough(start: StartPart): Promise<Ending> {
  let signIns = 0;
  for (const name of ["list", "call"] as const) {
    for (;;) {
      const outcome = await start(name);
      if (outcome.type === "done") break;
      if (outcome.type === "failed") {
        console.error(outcome.error);
        return { ended: "failed", signIns };
      }
      if (signIns === maxSignIns) throw new Error(`the user had to sign in ${signIns} times`);
      signIns += 1;
      const ended = await signIn(start);
      if (ended === undefined) continue;
      const again = await start(name);
      if (again.type === "sign-in") return { ended, signIns };
      throw new Error(`after a refused sign-in the agent ended with "${again.type}"`);
    }
  }
  return { ended: "done", signIns };
}

/** Goes where the routes send a browser. The suite's user agrees at once. */
async function signIn(start: StartPart): Promise<"not-started" | "not-finished" | undefined> {
  const started = routed(await start("start"));
  if (started.type === "page") return "not-started";
  const { headers } = await fetch(started.location, { redirect: "manual" });
  const finished = routed(await start("callback", headers.get("location") ?? ""));
  return finished.type === "page" && finished.status === 200 ? undefined : "not-finished";
}

/** What a route answered, which it does whatever the user and the servers do. */
function routed(outcome: PartOutcome): Extract<PartOutcome, { type: "page" | "redirect" }> {
  if (outcome.type === "page" || outcome.type === "redirect") return outcome;
  throw new Error(`a route gave "${outcome.type}"`, { cause: outcome });
}

async function startPart(name: PartName, input: PartInput): Promise<PartOutcome> {
  const { ended, output } = await startAgain([client, "--part", name, url], JSON.stringify(input));
  if (ended !== 0) throw new Error(`${name} ended with ${ended}`);
  return JSON.parse(output) as PartOutcome;
}
