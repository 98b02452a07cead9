import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/**
 * The public entry points of the published packages, as their `exports` name them: all but the `internal` ones,
 * which the packages have for each other.
 *
 * Each has a `name` (`core/waiting`), which is also the path of its page in docs/api, a `specifier` (what a program
 * imports), and a `source` (a path in the repository); that of a package also its `description`.
 */
export function publicEntries() {
  return globSync("packages/*/package.json", { cwd: root })
    .map((file) => ({ file, ...JSON.parse(readFileSync(join(root, file), "utf8")) }))
    .filter((manifest) => !manifest.private)
    .flatMap(({ file, name, description, exports = {} }) =>
      Object.entries(exports)
        .map(([subpath, conditions]) => ({
          specifier: `${name}${subpath.slice(1)}`,
          name: `${name.replace("@durable-mcp/", "")}${subpath.slice(1)}`,
          source: conditions["@durable-mcp/source"],
          folder: dirname(file),
          ...(subpath === "." && { description }),
        }))
        .filter((entry) => entry.source !== undefined && !entry.specifier.endsWith("/internal")),
    )
    .map(({ source, folder, ...entry }) => ({ ...entry, source: join(folder, source) }))
    .toSorted(byUse);
}

/** The names that an entry point exports. */
export function exportsOf({ source }) {
  const text = readFileSync(join(root, source), "utf8");
  const lists = [...text.matchAll(/export (?:type )?\{([^}]*)\}/g)]
    .flatMap(([, names]) => names.split(","))
    .map((item) => item.replace(/\btype\b/, "").trim())
    .filter((item) => item !== "");
  const inPlace = [...text.matchAll(/^export (?:async )?[a-z]+ (\w+)/gm)]
    .map(([, word]) => word)
    .filter((word) => word !== "type");
  return [...lists, ...inPlace];
}

/**
 * The page in docs/api of a link to a source file: of an entry point, or with the anchor `#name` of what a file
 * exports. It is there only when the docs have been built; GitHub has the file.
 *
 * @returns its path without `.md`; `undefined` for other links
 */
export function apiPageOf(path, anchor) {
  const [, folder] = /^packages\/([\w-]+)\/src\/.*\.ts$/.exec(path) ?? [];
  const own = publicEntries().filter(({ source }) => source.startsWith(`packages/${folder}/`));
  const isExported = (entry) => exportsOf(entry).some((name) => name.toLowerCase() === anchor);
  return own.find((entry) => (anchor ? isExported(entry) : entry.source === path))?.name;
}

/** What others re-export comes first: it is described where it is first exported. */
function byUse(one, other) {
  const order = [
    "core",
    "ai-sdk",
    "sessions",
    "stores",
    "oauth",
    "react",
    "gateway",
    "langchain",
    "openai-agents",
    "workflow",
    "server",
    "testing",
  ];
  const place = ({ name }) => order.indexOf(name.split("/")[0]) + 1 || order.length + 1;
  return place(one) - place(other) || (one.name < other.name ? -1 : 1);
}
