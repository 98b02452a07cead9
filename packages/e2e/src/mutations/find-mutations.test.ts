import { describe, expect, it } from "vitest";
import { findMutations, notePlaces } from "./find-mutations.ts";

const source = `
const isOne = x === 1 && y > 2;
if (!isOne) told.push("not one");
const names = { 404: "gone" };
function twice(of) {
  return of + of;
}
if (isOne) twice(x);
`;

/** The faults of the source, each as what stands there then. */
const faults = findMutations(source).map(({ start, end, text }) => {
  const line = source.slice(0, start).split("\n").length - 1;
  return (source.slice(0, start) + text + source.slice(end)).split("\n")[line]!.trim();
});

/** The faults whose places run. */
function placesThatRun(x: number, y: number): string[] {
  const places = findMutations(source);
  const noted = notePlaces(source, places, (place) => `note(${place})`);
  const run = new Set<number>();
  // oxlint-disable-next-line typescript/no-implied-eval -- The noted source is what this is about.
  new Function("x", "y", "told", "note", noted)(x, y, [], (place: number) => run.add(place));
  return [...run].toSorted((a, b) => a - b).map((place) => faults[place]!);
}

const without = (...left: string[]) => faults.filter((fault) => !left.includes(fault));

describe("the faults of a source", () => {
  it("are one operator, condition, value or act each", () => {
    expect(faults).toEqual([
      "const isOne = x === 1 || y > 2;",
      "const isOne = x !== 1 && y > 2;",
      "const isOne = x === 2 && y > 2;",
      "const isOne = x === 1 && y >= 2;",
      "const isOne = x === 1 && y > 3;",
      'if (!(!isOne)) told.push("not one");',
      'if (isOne) told.push("not one");',
      "if (!isOne) ;",
      'const names = { 405: "gone" };',
      "return undefined as never;",
      "return of - of;",
      "if (!(isOne)) twice(x);",
      "if (isOne) ;",
    ]);
  });

  it("are noted where their place runs, and only there", () => {
    const never = ['const names = { 405: "gone" };'];
    const ifOne = ["return undefined as never;", "return of - of;", "if (isOne) ;"];
    const ifNotOne = ["if (!isOne) ;"];
    const right = ["const isOne = x === 1 && y >= 2;", "const isOne = x === 1 && y > 3;"];
    expect(placesThatRun(1, 3)).toEqual(without(...never, ...ifNotOne));
    expect(placesThatRun(1, 2)).toEqual(without(...never, ...ifOne));
    expect(placesThatRun(2, 3)).toEqual(without(...never, ...ifOne, ...right));
  });
});
