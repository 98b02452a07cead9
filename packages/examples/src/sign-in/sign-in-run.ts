import { runToJson } from "../programs/run-to-json.ts";
import { endProgram, startProgram } from "../programs/start-program.ts";
import { findFreePort, waitForPort } from "../programs/wait-for-port.ts";
import type { AuthorizationServer } from "../servers/authorization-server.ts";
import type { LockedShop } from "../servers/locked-shop.ts";
import type { Browser } from "./browser.ts";
import type { Places } from "./shop-connection.ts";
import { describeStep, type SignInReport } from "./sign-in-report.ts";

export interface World {
  readonly authorization: AuthorizationServer;
  readonly shop: LockedShop;
  readonly browser: Browser;
  readonly env: NodeJS.ProcessEnv;
}

/** What was counted at both servers. */
export interface Figures {
  readonly toShop: number;
  readonly toAuthorization: number;
  /** MCP sessions that began. */
  readonly sessions: number;
  readonly orders: number;
  readonly registered: number;
  readonly signedIn: number;
  readonly refreshed: number;
  readonly revoked: number;
}

/** One process, or two at once. */
export interface Happened extends Figures {
  readonly step: number;
  readonly pids: readonly number[];
  readonly lines: readonly string[];
}

interface StepArguments {
  /** What the user says; nothing where the conversation goes on by itself. */
  readonly prompt: string;
  /** Of the conversation. */
  readonly file: string;
  /** In milliseconds since the epoch. @default at once */
  readonly startAt?: number;
}

export interface SignInRun {
  /** Runs the agent in a process, or in several at once. */
  steps: (step: number, ...all: StepArguments[]) => Promise<Happened>;
  /** Starts the application, and has the user sign in with a browser. */
  signIn: (step: number) => Promise<Happened>;
}

/**
 * Runs the processes of one way to do it, and counts what reaches the servers.
 *
 * @param programs.step, programs.application by their file names
 */
export async function createRun(
  programs: { readonly step: string; readonly application: string },
  place: Pick<Places, "store" | "chatId">,
  { authorization, shop, browser, env }: World,
): Promise<SignInRun> {
  const port = await findFreePort();
  const appUrl = `http://127.0.0.1:${port}`;
  const places: Places = { ...place, appUrl, shopUrl: shop.url };
  const given = JSON.stringify(places);

  function count(): Figures {
    const { requests: toShop, sessions } = shop.counts;
    const { requests: toAuthorization, ...others } = authorization.counts;
    return { toShop, toAuthorization, sessions, orders: shop.orders.length, ...others };
  }

  async function runStep({ prompt, file, startAt = 0 }: StepArguments): Promise<SignInReport> {
    const program = new URL(programs.step, import.meta.url);
    return await runToJson(program, [given, prompt, String(startAt), file], env);
  }

  return {
    async steps(step, ...all) {
      const before = count();
      const reports = await Promise.all(all.map(runStep));
      const pids = reports.map(({ pid }) => pid);
      return { step, pids, lines: reports.map(describeStep), ...difference(count(), before) };
    },
    async signIn(step) {
      const before = count();
      const program = new URL(programs.application, import.meta.url);
      const child = startProgram(program, [String(port), given], {
        ...{ env, stdio: ["ignore", "pipe", "inherit"] },
      });
      await waitForPort(port);
      const { clicks, said } = await browser.signIn(appUrl);
      await endProgram(child, "SIGTERM");
      const lines = [`The user clicks: ${clicks.join(", ")}`, `“${said}”`];
      return { step, pids: [child.pid!], lines, ...difference(count(), before) };
    },
  };
}

function difference(after: Figures, before: Figures): Figures {
  return combine(after, before, (a, b) => a - b);
}

export function sum(all: readonly Figures[]): Figures {
  return all.reduce((a, b) => combine(a, b, (x, y) => x + y));
}

function combine(a: Figures, b: Figures, how: (a: number, b: number) => number): Figures {
  const names = Object.keys(a) as (keyof Figures)[];
  const figures = names.map((name) => [name, how(a[name], b[name])]);
  return Object.fromEntries(figures) as Record<keyof Figures, number>;
}
