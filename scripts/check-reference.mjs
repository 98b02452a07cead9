import { globSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { exportsOf, publicEntries } from "./public-entries.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The types of the events that a source file declares. */
function typesIn(read, file) {
  return [...read(`packages/${file}`).matchAll(/readonly type: "([\w-]+)"/g)].map(
    ([, type]) => type,
  );
}

/**
 * Looks for docstrings of all public names, from which docs/api is written, and for events in
 * docs/reference/events.md.
 *
 * @param read reads a file by its path in the repository
 * @param problem takes what is missing
 * @returns how many names were looked for
 */
export function checkReference(read, problem) {
  let count = 0;
  for (const entry of publicEntries()) {
    const names = exportsOf(entry);
    const source = sourcesBeside(read, entry.source);
    for (const name of names.filter((each) => lacksDocstring(each, source))) {
      problem(entry.source, 1, `${name} has no docstring, and docs/api needs one.`);
    }
    count += names.length;
  }
  const page = "docs/reference/events.md";
  const text = read(page);
  const events = [
    "core/src/session/session-event.ts",
    "sessions/src/events/connection-event.ts",
    "server/src/base/server-event.ts",
    "oauth/src/base/oauth-event.ts",
  ].flatMap((file) => typesIn(read, file));
  for (const name of new Set(events)) {
    count += 1;
    if (!new RegExp(`(\`|#+ )${name}\\b`).test(text))
      problem(page, 1, `${name} is not documented.`);
  }
  return count;
}

/** All sources of the package that a file belongs to. */
function sourcesBeside(read, file) {
  const [folder] = /^packages\/[\w-]+/.exec(file);
  return globSync(`${folder}/src/**/*.{ts,tsx}`, { cwd: root })
    .filter((path) => !/\.test(-d)?\.tsx?$/.test(path))
    .map(read)
    .join("\n");
}

/** What is declared in none of these sources comes from another package. */
function lacksDocstring(name, source) {
  const declaration = new RegExp(
    `(\\*/\\n)?^export (?:declare )?(?:async )?(?:function|interface|class|type|const) ${name}\\b`,
    "m",
  ).exec(source);
  return declaration !== null && declaration[1] === undefined;
}
