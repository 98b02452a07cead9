// The search for line feeds, which is what an SSE answer costs more than a JSON answer: why core
// prefers the search of Node's Buffer where there is one.
import { afterAll, expect, test } from "vitest";
import { measureSideBySide } from "./side-by-side.ts";
import { createTable } from "./table.ts";

const bytes = 1_000_000;
const chunkBytes = 65_536;
const rounds = 300;
/** By how much Node's search has to be faster, or the standard one would do. */
const minAdvantage = 5;

const table = createTable(
  `A byte sought in ${bytes} bytes: medians of ${rounds} rounds`,
  ["indexOf of"],
  ["ms", "ratio"],
);
afterAll(() => table.print());

test("a line feed that is not there", async () => {
  const chunks = Array.from({ length: Math.ceil(bytes / chunkBytes) }, () =>
    new Uint8Array(chunkBytes).fill(0x41),
  );
  const searchWith = (prototype: Uint8Array) => async () =>
    chunks.every((chunk) => prototype.indexOf.call(chunk, 10) === -1);
  const { node, standard } = await measureSideBySide(
    { node: searchWith(Buffer.prototype), standard: searchWith(Uint8Array.prototype) },
    rounds,
  );
  table.add(["Buffer"], [node.medianMs.toFixed(3), "1"]);
  table.add(["Uint8Array"], [standard.medianMs.toFixed(3), standard.ratio.toFixed(0)]);
  expect(standard.ratio).toBeGreaterThan(minAdvantage);
});
