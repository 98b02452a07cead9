import type { WaitingEntry } from "@durable-mcp/core/waiting";
import { fork } from "node:child_process";
import { compileCache, keepCompiled } from "../processes/compile-cache.ts";
import { programArguments } from "../processes/programs.ts";
import { startStorePlace, type StoreKind } from "../durable/store-place.ts";
import type { AgentApplication, AgentReport, AgentTask } from "./agent-protocol.ts";
import { type AuthorizationServer, startAuthorizationServer } from "./authorization-server.ts";
import { type LockedServer, startLockedServer } from "./locked-server.ts";
import { secretsOf } from "./secrets-in.ts";

// Nobody listens there.
const redirectUrl = "http://127.0.0.1:3999/oauth/callback";

/** An application with a locked notebook. Each of its steps is a process of its own. */
export interface AgentWorld {
  readonly authorization: AuthorizationServer;
  readonly locked: LockedServer;
  /** Runs one process. @throws if it ends without a report */
  run: (task: Omit<AgentTask, "application">) => Promise<AgentReport>;
  /** The user opens the `startUrl` of a connection that waits, and one process has the routes for that. */
  signIn: (door: WaitingEntry | undefined, user: string) => Promise<void>;
  /** All that the processes have printed. */
  printed: () => string;
  /** Where users were sent to sign in. */
  locations: () => string;
  /** Digests of all access tokens, session ids, refresh tokens, states, codes and verifiers. */
  secrets: () => Promise<string[]>;
  close: () => Promise<void>;
}

export async function startAgentWorld(use: {
  readonly sdk: 1 | 2;
  readonly session: AgentApplication["session"];
  readonly store: StoreKind;
}): Promise<AgentWorld> {
  const [authorization, { remove, ...place }] = await Promise.all([
    startAuthorizationServer(),
    startStorePlace(use.store),
  ]);
  const locked = await startLockedServer({ sdk: use.sdk, issuer: authorization.issuer });
  const key = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))));
  // The notebook has asked who its issuer is.
  await authorization.clearJournal();
  const { url } = locked;
  const application: AgentApplication = { place, key, redirectUrl, url, session: use.session };
  const printed: string[] = [];
  const locations: string[] = [];
  const sent: string[] = [];

  const run: AgentWorld["run"] = async (task) => {
    const process = await runProcess({ application, ...task });
    printed.push(process.printed);
    sent.push(...process.report.secrets);
    return process.report;
  };
  return {
    ...{ authorization, locked, run },
    async signIn(door, user) {
      if (door?.id !== undefined || door === undefined) throw new Error("No connection waits.");
      const work = { type: "sign in", startUrl: door.startUrl } as const;
      const { status, location } = await run({ user, sessionId: "routes", work });
      if (status !== 200) throw new Error(`The callback answered ${status}.`);
      locations.push(location!);
    },
    printed: () => printed.join("\n"),
    locations: () => locations.join("\n"),
    secrets: async () => [...sent, ...secretsOf(await authorization.journal())],
    async close() {
      await Promise.all([locked.stop(), authorization.stop()]);
      await remove();
    },
  };
}

async function runProcess(task: AgentTask): Promise<{ report: AgentReport; printed: string }> {
  const args = programArguments(new URL("./agent-program.ts", import.meta.url));
  const child = fork(args.pop()!, {
    execArgv: [...args, ...keepCompiled()],
    env: { ...process.env, ...compileCache, NODE_NO_WARNINGS: "1" },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  let printed = "";
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding("utf8").on("data", (text: string) => (printed += text));
  }
  let report: AgentReport | undefined;
  child.once("message", (message: AgentReport) => (report = message));
  child.send(task);
  const code = await new Promise((resolve) => child.once("close", resolve));
  if (report === undefined) throw new Error(`A step ended with ${String(code)}:\n${printed}`);
  return { report, printed };
}
