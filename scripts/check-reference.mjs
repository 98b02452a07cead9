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
 * Looks for functions and classes in the hand-written reference of their package, for fields that have no docstring
 * too, and for events in theirs. Types and all other fields are on the generated pages, so they need docstrings.
 *
 * @param read reads a file by its path in the repository
 * @param problem takes what is missing
 * @returns how many names were looked for
 */
export function checkReference(read, problem) {
  let count = 0;
  const expectNames = (page, names, ...furtherPages) => {
    const text = [page, ...furtherPages].map(read).join("\n");
    for (const name of names) {
      count += 1;
      if (!new RegExp(`(\`|#+ )${name}\\b`).test(text))
        problem(page, 1, `${name} is not documented.`);
    }
  };
  for (const entry of publicEntries()) {
    const [page, ...furtherPages] = pagesOf(entry.name);
    const names = exportsOf(entry);
    const source = sourcesBeside(read, entry.source);
    for (const name of names.filter((each) => lacksDocstring(each, source))) {
      problem(entry.source, 1, `${name} has no docstring, and docs/api needs one.`);
    }
    // The generated page has the types, and what docstrings say of fields.
    const toCall = names.filter((name) => !isType(name, source));
    const fields = names
      .flatMap((type) => fieldsOf(type, source))
      .filter(({ hasDocstring }) => !hasDocstring)
      .map(({ name }) => name);
    expectNames(page, [...toCall, ...fields], ...furtherPages);
  }
  const events = [
    "core/src/session/session-event.ts",
    "ai-sdk/src/events/connection-event.ts",
  ].flatMap((file) => typesIn(read, file));
  expectNames("docs/reference/events.md", new Set(events));
  expectNames(
    "docs/reference/server.md",
    new Set(typesIn(read, "server/src/base/server-event.ts")),
  );
  expectNames("docs/reference/oauth.md", new Set(typesIn(read, "oauth/src/base/oauth-event.ts")));
  return count;
}

/** All sources of the package that a file belongs to. */
function sourcesBeside(read, file) {
  const [folder] = /^packages\/[\w-]+/.exec(file);
  return globSync(`${folder}/src/**/*.ts`, { cwd: root })
    .filter((path) => !/\.test(-d)?\.ts$/.test(path))
    .map(read)
    .join("\n");
}

/** The pages that have to name what an entry point exports. */
function pagesOf(name) {
  const elsewhere = {
    "core/sealing": ["ai-sdk"],
    "core/store-driver": ["stores"],
    "core/testing": ["stores"],
    "ai-sdk": ["ai-sdk", "durable-sessions"],
    "stores/memory": ["core"],
  };
  return (elsewhere[name] ?? [name.split("/")[0]]).map((page) => `docs/reference/${page}.md`);
}

/** What is declared in none of these sources comes from another package. */
function lacksDocstring(name, source) {
  const declaration = new RegExp(
    `(\\*/\\n)?^export (?:declare )?(?:async )?(?:function|interface|class|type|const) ${name}\\b`,
    "m",
  ).exec(source);
  return declaration !== null && declaration[1] === undefined;
}

function isType(name, source) {
  return new RegExp(`^export (?:declare )?(?:interface|type) ${name}\\b`, "m").test(source);
}

/** An interface's or a class's public fields, which stand alone at an indentation of two, and those it extends. */
function fieldsOf(type, source) {
  const start = source.search(new RegExp(`^export (interface|class) ${type}\\b`, "m"));
  if (start === -1) return [];
  const line = source.slice(start, source.indexOf("\n", start));
  const body = line.endsWith("{}") ? line : source.slice(start, source.indexOf("\n}", start));
  const bases = /^[^{]*?[ >]extends ([\w<>, ]+) \{}?$/m.exec(body)?.[1].match(/\b[A-Z]\w+/g) ?? [];
  const fields = [
    ...body.matchAll(/(\*\/\n)?^ {2}(?:static )?(?:readonly )?([a-zA-Z]\w*)\??[:(<]/gm),
  ]
    .map(([, docstring, name]) => ({ name, hasDocstring: docstring !== undefined }))
    .filter(({ name }) => name !== "constructor");
  return [...bases.flatMap((base) => fieldsOf(base, source)), ...fields];
}
