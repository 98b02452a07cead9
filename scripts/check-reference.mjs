import { globSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The types of the events that a source file declares. */
function typesIn(read, file) {
  return [...read(`packages/${file}`).matchAll(/readonly type: "([\w-]+)"/g)].map(
    ([, type]) => type,
  );
}

/**
 * Looks for exports and the fields of exported interfaces in the reference of their package, and for events in
 * theirs.
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
  const documented = {
    core: ["core/src/index.ts", "core/src/memory/index.ts", "core/src/waiting/index.ts"],
    "ai-sdk": ["ai-sdk/src/index.ts", "ai-sdk/src/opentelemetry/index.ts"],
    langchain: ["langchain/src/index.ts", "langchain/src/middleware.ts"],
    oauth: ["oauth/src/index.ts", "oauth/src/eve.ts"],
    workflow: ["workflow/src/index.ts", "workflow/src/steps/index.ts"],
    server: ["server/src/index.ts", "server/src/node.ts"],
    stores: [
      ...["core/src/stores/store-driver.ts", "core/src/testing/index.ts"],
      ...["stores/src/sqlite.ts", "stores/src/postgres.ts", "stores/src/redis.ts"],
    ],
  };
  for (const [name, entries] of Object.entries(documented)) {
    for (const entry of entries) {
      const source = read(`packages/${entry}`);
      const lists = [...source.matchAll(/export (?:type )?\{([^}]*)\}/g)]
        .flatMap(([, names]) => names.split(","))
        .map((text) => text.replace(/\btype\b/, "").trim())
        .filter((text) => text !== "");
      const inPlace = [...source.matchAll(/^export (?:async )?[a-z]+ (\w+)/gm)]
        .map(([, word]) => word)
        .filter((word) => word !== "type");
      const exported = [...lists, ...inPlace];
      const folder = `packages/${dirname(entry)}`;
      const sources = globSync("**/*.ts", { cwd: join(root, folder) }).map((file) =>
        read(`${folder}/${file}`),
      );
      const fields = exported.flatMap((type) => fieldsOf(type, sources.join("\n")));
      const further = name === "ai-sdk" ? ["docs/reference/durable-sessions.md"] : [];
      expectNames(`docs/reference/${name}.md`, [...exported, ...fields], ...further);
    }
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

/**
 * Names of an interface's or a class's public fields, which stand alone at an indentation of two, and of what it
 * extends.
 */
function fieldsOf(type, source) {
  const start = source.search(new RegExp(`^export (interface|class) ${type}\\b`, "m"));
  if (start === -1) return [];
  const body = source.slice(start, source.indexOf("\n}", start));
  const bases = /^[^{]*?[ >]extends ([\w<>, ]+) \{$/m.exec(body)?.[1].match(/\b[A-Z]\w+/g) ?? [];
  const fields = [...body.matchAll(/^ {2}(?:static )?(?:readonly )?([a-zA-Z]\w*)\??[:(<]/gm)]
    .map(([, name]) => name)
    .filter((name) => name !== "constructor");
  return [...bases.flatMap((base) => fieldsOf(base, source)), ...fields];
}
