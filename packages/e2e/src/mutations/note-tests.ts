import { readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { type Mutation, notePlaces } from "./find-mutations.ts";
import type { WarmTests } from "./warm-tests.ts";

/** A mutation in its file. */
export interface Place extends Mutation {
  readonly path: string;
}

/**
 * Runs the tests of the places' files once, over sources that note which of the places run.
 *
 * @returns the test files that run each place, without those that fail
 */
export async function noteTests(
  clone: string,
  tests: WarmTests,
  places: readonly Place[],
): Promise<readonly (readonly string[])[]> {
  const notes = join(clone, "notes.tsv");
  writeFileSync(notes, "");
  const paths = [...new Set(places.map(({ path }) => path))];
  const importing = new Map<string, readonly string[]>();
  const all = await tests.all();
  for (const path of paths) {
    // Those of the room may run it in processes, which nothing imports.
    const ofRoom = all.filter((file) => file.includes(`/${basename(dirname(path))}/`));
    importing.set(path, [...ofRoom, ...(await tests.importing(path))]);
  }

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
  await runAll(tests, [...new Set([...importing.values()].flat())]);
  for (const [path, source] of sources) {
    writeFileSync(join(clone, path), source);
    tests.changed(path);
  }

  const noted = Map.groupBy(
    readFileSync(notes, "utf8").trim().split("\n"),
    (line) => line.split("\t")[0]!,
  );
  return places.map(({ path, around }, index) => {
    const lines = (noted.get(String(index)) ?? []).map((line) => line.split("\t"));
    const own = lines.map(([, file = ""]) => relative(clone, file)).filter(Boolean);
    // What runs once a process, when it loads, is noted with the first of the files that depend on it.
    const isKnown = around !== undefined && lines.every(([, , when]) => when === "test");
    const files = new Set(isKnown ? own : [...own, ...importing.get(path)!]);
    return [...files].filter((file) => tests.durations.has(file));
  });
}

/** Runs test files, those that fail up to three times: a busy machine makes tests fail, too. */
async function runAll(tests: WarmTests, files: readonly string[]): Promise<void> {
  const failures = new Map<string, number>();
  const left = () =>
    files
      .filter((file) => !tests.durations.has(file) && (failures.get(file) ?? 0) < 3)
      .toSorted((a, b) => (failures.get(a) ?? 0) - (failures.get(b) ?? 0));
  while (left().length > 0) {
    const { file, told } = (await tests.run(left())) ?? {};
    if (told === undefined) break;
    console.error(`fails without a fault: ${told}`);
    failures.set(file ?? "", (failures.get(file ?? "") ?? 0) + 1);
    if (failures.get("") === 3) throw new Error(`The tests do not run: ${told}`);
  }
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
