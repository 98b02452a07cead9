import { checkRedirectUrl, isLoopbackUrl } from "@durable-mcp/oauth/internal";
import type { Command } from "commander";
import { readConnectionsModule } from "../configuration/connections-module.ts";
import { type DeclaredServer, readMcpJson } from "../configuration/mcp-json.ts";
import { CommandFailure } from "../output/command-failure.ts";
import { print, printJson } from "../output/print.ts";
import { renderTable } from "../output/table.ts";
import {
  type CheckResult,
  failed,
  marks,
  note,
  ok,
  type Probe,
  type Row,
} from "../probe/checks.ts";
import { interruptible } from "../probe/interruptible.ts";
import type { StoreOptions } from "../store/store-options.ts";
import { checkServers } from "./server-checks.ts";
import { checkStore } from "./store-checks.ts";

interface DoctorOptions extends StoreOptions {
  readonly redirectUrl?: string;
  /** Paths. */
  readonly mcpJson?: string;
  readonly connections?: string;
  /** In seconds. */
  readonly timeout: number;
}

/** Checks what an application needs. @throws {CommandFailure} after all output, if a check failed */
export async function runDoctor(options: DoctorOptions, command: Command): Promise<void> {
  const rows = await interruptible(command, async (signal, { show }) => {
    const limits = { requestMs: options.timeout * 1_000, watchMs: 0 };
    show("the store");
    return [
      { check: "Node", ...checkNode(process.versions.node) },
      ...(await checkStore(options)),
      { check: "redirect URL", ...checkRedirect(options.redirectUrl) },
      ...(await checkDeclared(options, { limits, signal, onStart: show })),
    ];
  });
  if (options.json) printJson(command, { rows });
  else
    print(
      command,
      renderTable(rows.map(({ check, outcome, says }) => [marks[outcome], check, says])),
    );
  const bad = rows.filter(({ outcome }) => outcome === "failed").map(({ check }) => check);
  if (bad.length > 0) throw new CommandFailure(`Failed: ${bad.join(", ")}.`);
}

/** Of sign-in and of this program. */
const leastNode = [22, 19] as const;

export function checkNode(version: string): CheckResult {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [leastMajor, leastMinor] = leastNode;
  const isEnough = major > leastMajor || (major === leastMajor && minor >= leastMinor);
  if (isEnough) return ok(`${version}.`);
  return failed(`${version}. Sign-in needs ${leastNode.join(".")}, or later: install it.`);
}

function checkRedirect(text: string | undefined): CheckResult {
  if (text === undefined) return note("Not checked. Give --redirect-url, if users sign in.");
  try {
    checkRedirectUrl(text, "--redirect-url");
  } catch (error) {
    return failed((error as Error).message);
  }
  return isLoopbackUrl(new URL(text))
    ? note("It leads to this computer, so only browsers here come back. It was not opened.")
    : ok("https, without a fragment. It was not opened.");
}

/** The servers of a file and of a module, which says more of one with the same name. */
async function checkDeclared(
  { mcpJson, connections }: DoctorOptions,
  probe: Probe,
): Promise<Row[]> {
  const servers = new Map<string, DeclaredServer>();
  const rows: Row[] = [];
  const take = async (read: () => Promise<DeclaredServer[]>) => {
    try {
      for (const server of await read()) servers.set(server.name, server);
    } catch (error) {
      if (!(error instanceof CommandFailure)) throw error;
      rows.push({ check: "servers", ...failed(error.message) });
    }
  };
  if (mcpJson !== undefined) await take(async () => readMcpJson(mcpJson, "--mcp-json"));
  if (connections !== undefined)
    await take(() => readConnectionsModule(connections, "--connections"));
  if (mcpJson === undefined && connections === undefined)
    rows.push({ check: "servers", ...note("Not checked. Give --mcp-json, or --connections.") });
  return [...rows, ...(await checkServers([...servers.values()], probe))];
}
