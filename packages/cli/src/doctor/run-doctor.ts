import { checkRedirectUrl } from "@durable-mcp/oauth/internal";
import type { Command } from "commander";
import { readConnectionsModule } from "../configuration/connections-module.ts";
import type { DeclaredServer } from "../configuration/declared-server.ts";
import type { FilePermissionOptions } from "../configuration/file-permission.ts";
import { readMcpJson } from "../configuration/mcp-json.ts";
import { CommandFailure } from "../output/command-failure.ts";
import { print, printJson } from "../output/print.ts";
import { type CheckResult, failed, note, ok, renderRows, type Row } from "../probe/checks.ts";
import { interruptible } from "../probe/run-probe.ts";
import type { StoreOptions } from "../store/store-options.ts";
import { checkServers } from "./server-checks.ts";
import { checkStore } from "./store-checks.ts";

interface DoctorOptions extends StoreOptions, FilePermissionOptions {
  readonly redirectUrl?: string;
  readonly mcpJson?: string;
  readonly connections?: string;
  /** In seconds. */
  readonly timeout: number;
}

/** Checks what an application needs. @throws {CommandFailure} after all output, if a check failed */
export async function runDoctor(options: DoctorOptions, command: Command): Promise<void> {
  // It may ask a person, whose terminal no progress may write over.
  const { servers, unread } = await readServers(options);
  const rows = await interruptible(command, async (signal, { show }): Promise<Row[]> => {
    show("the store");
    const stored = await checkStore(options);
    const limits = { requestMs: options.timeout * 1_000, watchMs: 0 };
    const asked = await checkServers(servers, { limits, signal, onStart: show });
    const redirect = { check: "redirect URL", ...checkRedirect(options.redirectUrl) };
    const node = { check: "Node", ...checkNode(process.versions.node) };
    return [node, ...stored, redirect, ...unread, ...asked];
  });
  if (options.json) printJson(command, { rows });
  else print(command, renderRows(rows));
  const bad = rows.filter(({ outcome }) => outcome === "failed").map(({ check }) => check);
  if (bad.length > 0) throw new CommandFailure(`Failed: ${bad.join(", ")}.`);
}

/** Sign-in and this program need 22.19. */
export function checkNode(version: string): CheckResult {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > 22 || (major === 22 && minor >= 19)) return ok(`${version}.`);
  return failed(`${version}. Sign-in needs 22.19 or later: install it.`);
}

function checkRedirect(text: string | undefined): CheckResult {
  if (text === undefined) return note("Not checked. Give --redirect-url, if users sign in.");
  try {
    return checkRedirectUrl(text, "--redirect-url")
      ? note("It leads to this computer, so only browsers here come back. It was not opened.")
      : ok("https, without a fragment. It was not opened.");
  } catch (error) {
    return failed((error as Error).message);
  }
}

/** The servers of a file and of a module, which says more of one with the same name. */
async function readServers(options: DoctorOptions) {
  const { mcpJson, connections } = options;
  const servers = new Map<string, DeclaredServer>();
  const unread: Row[] = [];
  const take = async (path: string | undefined, read: typeof readConnectionsModule) => {
    try {
      for (const server of path === undefined ? [] : await read(path))
        servers.set(server.name, server);
    } catch (error) {
      if (!(error instanceof CommandFailure)) throw error;
      unread.push({ check: "servers", ...failed(error.message) });
    }
  };
  await take(mcpJson, (path) => readMcpJson(path, options));
  await take(connections, readConnectionsModule);
  if (mcpJson === undefined && connections === undefined)
    unread.push({ check: "servers", ...note("Not checked. Give --mcp-json, or --connections.") });
  return { servers: [...servers.values()], unread };
}
