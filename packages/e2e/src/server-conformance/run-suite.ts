import { spawn } from "node:child_process";
import { glob, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { packageBin } from "../processes/package-bin.ts";

export interface SuiteSummary {
  /** Scenarios that ran and in which nothing failed. */
  readonly passed: readonly string[];
  readonly failed: readonly string[];
  /** Checks of what a server should do and did not; the suite counts them as passed. */
  readonly warned: readonly string[];
  readonly printed: string;
}

/**
 * Runs the suite's scenarios of one protocol revision, pending ones too, against a server; without a revision all,
 * those of extensions too.
 */
export async function runServerSuite(
  url: string,
  { revision }: { revision?: string } = {},
): Promise<SuiteSummary> {
  const ofRevision = revision === undefined ? [] : ["--spec-version", revision];
  // Outside of the repository, and gone at the end: the suite's logs hold session ids.
  const directory = await mkdtemp(join(tmpdir(), "durable-mcp-conformance-"));
  try {
    const suite = spawn(
      process.execPath,
      [
        packageBin("@modelcontextprotocol/conformance"),
        ...["server", "--url", url, "--suite", "all", ...ofRevision, "-o", directory],
      ],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    const printed = await text(suite.stdout);
    return { ...readSummary(printed), warned: await readWarnings(directory), printed };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function readSummary(printed: string): Pick<SuiteSummary, "passed" | "failed"> {
  const passed: string[] = [];
  const failed: string[] = [];
  for (const line of printed.split("\n")) {
    const [, mark, name, count] = /^([✓✗]) ([\w-]+): (\d+) passed/.exec(line) ?? [];
    if (mark === "✗" || (mark === "✓" && count === "0")) failed.push(name!);
    else if (mark === "✓") passed.push(name!);
  }
  return { passed, failed };
}

async function readWarnings(directory: string): Promise<string[]> {
  const warned: string[] = [];
  for await (const file of glob("*/checks.json", { cwd: directory })) {
    const checks = JSON.parse(await readFile(join(directory, file), "utf8")) as Check[];
    warned.push(...checks.filter(({ status }) => status === "WARNING").map(({ id }) => id));
  }
  return warned;
}

/** As the suite writes it. */
interface Check {
  readonly id: string;
  readonly status: string;
}
