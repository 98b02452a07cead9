import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { measureCentreLoad, measureFirstLoad } from "./first-load.ts";
import type { BenchCount, BenchPart } from "../report/part.ts";

/** What is bundled stands in `.size-limit.json` of this package. The first is the session fetch alone. */
const folder = fileURLToPath(new URL("../../", import.meta.url));
const program = fileURLToPath(
  new URL("../../../../node_modules/size-limit/bin.js", import.meta.url),
);
/** Of the session fetch with all it needs, in kilobytes. */
const maxKilobytes = 14;
/** Of the two functions of a first program, until one of their parts is used, in kilobytes. */
const maxFirstLoad = 55;
/** Of all modules of the centre and the SQLite store, not minified, in kilobytes. */
const maxCentreLoad = 470;
/** How the names of its additions begin. */
const addition = "with ";

/** What a bundle has to carry: minified by rolldown, and compressed by gzip. */
export async function measureSize(): Promise<BenchPart> {
  const printed = execFileSync(process.execPath, [program, "--json"], {
    cwd: folder,
    encoding: "utf8",
  });
  const [base, ...others] = JSON.parse(printed) as { name: string; size: number }[];
  const counts: BenchCount[] = [
    {
      group: "The session fetch",
      label: base!.name,
      ...kilobytes(base!.size),
      target: { atMost: maxKilobytes },
    },
    ...others.map(({ name, size }) =>
      name.startsWith(addition)
        ? {
            group: "What it may be given, beside it",
            label: name.slice(addition.length),
            ...kilobytes(size - base!.size),
          }
        : { group: "Clients", label: name, ...kilobytes(size) },
    ),
  ];
  counts.push({
    group: "A first program",
    label: "what createDurableSessions and defineMcpClientConnection load at once, peers outside",
    ...kilobytes(await measureFirstLoad()),
    target: { atMost: maxFirstLoad },
  });
  counts.push({
    group: "Modules as they are published",
    label: "what Node loads for @durable-mcp/sessions and the SQLite store",
    ...kilobytes(measureCentreLoad()),
    target: { atMost: maxCentreLoad },
  });
  const notes = [
    "The first program is bundled by rolldown with splitting, minified, and each chunk that it loads at once is compressed by gzip. Of it core is 42 %, sessions 53 %, ai-sdk 5 % (bytes before compression, 2026-11-29). What is left is what an ordinary step runs, or what has to be there at once: checked options, errors, `autoSession`, pools. Recovery and handshake (8 kB) could be loaded later, and are not: neither may depend on a file that a deployment has replaced meanwhile.",
    "A session fetch is larger than its target. [Where the bytes are](../decisions/2026-11-23-what-a-call-costs.md#size), part by part, and what was tried to be rid of them.",
  ];
  return { id: "size", title: "Size in a bundle", ratios: [], counts, tables: [], notes };
}

function kilobytes(bytes: number): Pick<BenchCount, "value" | "unit"> {
  return { value: bytes / 1_000, unit: "kB" };
}
