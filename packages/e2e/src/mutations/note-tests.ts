import { readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { type Mutation, notePlaces } from "./find-mutations.ts";
import type { Failure, WarmTests } from "./warm-tests.ts";

/** A mutation in its file. */
export interface Place extends Mutation {
  readonly path: string;
}

/**
 * Runs the tests of the places' files once, over sources that note which of the places run.
 *
 * @returns the test files that run each place; or what fails without a fault
 */
export async function noteTests(
  clone: string,
  tests: WarmTests,
  places: readonly Place[],
): Promise<{ readonly testsOf: readonly (readonly string[])[] } | { readonly failure: Failure }> {
  const notes = join(clone, "notes.tsv");
  writeFileSync(notes, "");
  const paths = [...new Set(places.map(({ path }) => path))];
  const importing = new Map<string, readonly string[]>();
  for (const path of paths) importing.set(path, await tests.importing([path]));

  const sources = new Map(paths.map((path) => [path, readFileSync(join(clone, path), "utf8")]));
  for (const [path, source] of sources) {
    const own = places.filter((place) => place.path === path);
    const noted = notePlaces(source, own, (index) => `notePlace(${places.indexOf(own[index]!)})`);
    const begin = `((globalThis as any).notes ??= { process, loads: new Set(), lines: new Set() })`;
    const [add, end] = ["add", "delete"].map(
      (act) => `(globalThis as any).notes.loads.${act}(${JSON.stringify(path)});`,
    );
    writeFileSync(join(clone, path), `${begin}; ${add}${noted}\n${notePlaceIn(notes)}\n${end}\n`);
    tests.changed(path);
  }
  let failure: Failure | undefined;
  const files = [...new Set([...importing.values()].flat())];
  // A busy machine makes tests fail, too.
  for (let attempt = 0; attempt < 3; attempt += 1) {
    failure = await tests.run(files.filter((file) => !tests.durations.has(file)));
    if (failure === undefined) break;
  }
  for (const [path, source] of sources) {
    writeFileSync(join(clone, path), source);
    tests.changed(path);
  }
  if (failure !== undefined) return { failure };

  const noted = Map.groupBy(
    readFileSync(notes, "utf8").trim().split("\n"),
    (line) => line.split("\t")[0]!,
  );
  const testsOf = places.map(({ path, around }, index) => {
    const lines = (noted.get(String(index)) ?? []).map((line) => line.split("\t"));
    const own = lines.map(([, file = ""]) => relative(clone, file)).filter(Boolean);
    // What runs once a process, when it loads, is noted with the first of the files that depend on it.
    const isKnown = around !== undefined && lines.every(([, , when]) => when === "test");
    return [...new Set(isKnown ? own : [...own, ...importing.get(path)!])];
  });
  return { testsOf };
}

/** A function of the noted source. It notes a place once for each test file, in processes of the tests, too. */
const notePlaceIn = (notes: string) => `
function notePlace(place: number): void {
  const { notes, __vitest_worker__: worker } = globalThis as any;
  const { process, loads, lines } = notes;
  if (worker) process.env.NOTED_TEST = worker.filepath;
  const isInTest = worker?.current?.type === "test" && loads.size === 0;
  const line = [place, process.env.NOTED_TEST ?? "", isInTest ? "test" : "load"].join("\\t");
  if (lines.has(line)) return;
  lines.add(line);
  process.getBuiltinModule("node:fs").appendFileSync(${JSON.stringify(notes)}, line + "\\n");
}`;
