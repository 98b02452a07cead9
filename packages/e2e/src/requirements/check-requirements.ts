import { citedIds, type DeclaredTest } from "./declared-tests.ts";
import type { Requirement } from "./read-requirements.ts";

/** What is wrong with the manifest, given the tests that there are: one line each. */
export function checkRequirements(
  requirements: readonly Requirement[],
  tests: readonly DeclaredTest[],
): string[] {
  const ids = new Set(requirements.map(({ id }) => id));
  const repeated = requirements.filter(
    ({ id }, index) => requirements.findIndex((other) => other.id === id) !== index,
  );
  return [
    ...repeated.map(({ id }) => `${id} is listed twice`),
    ...requirements.flatMap((requirement) => checkCoverage(requirement, tests)),
    ...tests.flatMap(({ file, title }) =>
      citedIds(title)
        .filter((id) => !ids.has(id))
        .map((id) => `${file}: "${title}" cites ${id}, which is not listed`),
    ),
  ];
}

function checkCoverage(
  { id, role, tests: named, isCovered }: Requirement,
  tests: readonly DeclaredTest[],
): string[] {
  const missing = named.filter(
    ({ file, title }) => !tests.some((test) => test.file === file && test.title.includes(title)),
  );
  return [
    ...(role !== "server" && !isCovered
      ? [`${id} has neither a test nor a reason why it needs none`]
      : []),
    ...missing.map(({ file, title }) => `${id} names a test that is not there: ${file}: ${title}`),
  ];
}
