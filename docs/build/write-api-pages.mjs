// Writes the pages of docs/api from the docstrings of the public entry points, one page for each:
//
//     node build/write-api-pages.mjs
//
// TypeDoc reads the sources with the TypeScript of docs/package.json, the newest that it works with. A public name
// without a docstring, or a link in one that leads nowhere, is an error.
import { readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Application, Comment, Converter, ReflectionKind, UnknownType } from "typedoc";
import { MarkdownPageEvent } from "typedoc-plugin-markdown";
import { publicEntries } from "../../scripts/public-entries.mjs";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const out = "api";
const entries = publicEntries();
const errorCodes = new Set(
  [...readFileSync("errors.md", "utf8").matchAll(/^#+ ([A-Z]+_[A-Z_]+)$/gm)].map(
    ([, code]) => code,
  ),
);

const app = await Application.bootstrapWithPlugins({
  plugin: ["typedoc-plugin-markdown"],
  entryPoints: entries.map(({ source }) => `../${source}`),
  tsconfig: "tsconfig.json",
  // `npm run typecheck` does.
  skipErrorChecking: true,
  excludeExternals: true,
  excludeInternal: true,
  excludePrivate: true,
  disableSources: true,
  readme: "none",
  out,
  cleanOutputDir: true,
  router: "module",
  entryFileName: "index",
  pageTitleTemplates: {
    index: "API reference",
    module: ({ rawName }) => `@durable-mcp/${rawName}`,
  },
  sort: ["source-order"],
  sortEntryPoints: false,
  groupOrder: ["Functions", "Variables", "Classes", "Interfaces", "Type Aliases", "*"],
  hidePageHeader: true,
  hideBreadcrumbs: true,
  useCodeBlocks: true,
  indexFormat: "table",
  parametersFormat: "table",
  interfacePropertiesFormat: "table",
  classPropertiesFormat: "table",
  typeAliasPropertiesFormat: "table",
  typeDeclarationFormat: "table",
  propertyMembersFormat: "table",
  tableColumnSettings: { hideInherited: true, hideModifiers: true, hideOverrides: true },
  validation: { invalidLink: true, notDocumented: true, notExported: false },
  requiredToBeDocumented: ["Class", "Function", "Interface", "TypeAlias", "Variable"],
  packagesRequiringDocumentation: [
    ...new Set(entries.map(({ specifier }) => packageOf(specifier))),
  ],
});

app.converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => {
  for (const module of project.children) {
    const paths = [`packages/${module.name}.ts`, `packages/${module.name}/index.ts`];
    const entry = entries.find(({ source }) => paths.includes(source));
    module.name = entry.name;
    module.comment = new Comment([{ kind: "text", text: summaryOf(module, entry) }]);
  }
  for (const reflection of Object.values(project.reflections)) {
    if (isFetch(reflection.type)) reflection.type = new UnknownType("typeof fetch");
    for (const tag of reflection.comment?.blockTags ?? [])
      if (tag.tag === "@default") showAsProse(tag);
  }
});
app.renderer.on(MarkdownPageEvent.END, (page) => {
  page.contents = joinColumns(linkErrorCodes(page.contents, page.url));
});

const project = await app.convert();
if (project) {
  // Fields stay in the order of the source.
  for (const { children } of project.children.flatMap(({ groups = [] }) => groups)) {
    children.sort((one, other) => (one.name < other.name ? -1 : 1));
  }
  app.validate(project);
  await app.generateOutputs(project);
}
if (app.logger.hasErrors() || app.logger.hasWarnings()) {
  rmSync(out, { recursive: true, force: true });
  process.exitCode = 1;
}

function packageOf(specifier) {
  return specifier.split("/").slice(0, 2).join("/");
}

/** What a package is for; of a further entry point, its functions. */
function summaryOf({ children }, { description }) {
  const functions = children
    .filter((child) =>
      (child.tryGetTargetReflectionDeep?.() ?? child).kindOf(ReflectionKind.Function),
    )
    .map(({ name }) => `\`${name}\``);
  return description ?? functions.toSorted().join(", ");
}

/** `fetch` has two signatures, of the DOM's types and of Node's: its name says more. */
function isFetch(type) {
  return type?.type === "reflection" && String(type).startsWith("{ (input: RequestInfo | URL, ");
}

/** A default in words ("none may") is not code. */
function showAsProse(tag) {
  for (const part of tag.content) {
    const [, words] = /^```ts\n([a-z]+(?: [a-z]+)+)\n```$/.exec(part.text) ?? [];
    if (part.kind === "code" && words) Object.assign(part, { kind: "text", text: words });
  }
}

/** Error codes lead to their headings. */
function linkErrorCodes(text, url) {
  const up = "../".repeat(url.split("/").length);
  return text.replaceAll(/(?<!\[)`(?:[A-Z]+_[A-Z_]+)`/g, (code) => {
    const name = code.slice(1, -1);
    const anchor = name.toLowerCase().replaceAll("_", "-");
    return errorCodes.has(name) ? `[${code}](${up}errors.md#${anchor})` : code;
  });
}

/** A type stands above its meaning: three columns are too wide for a page, and for a phone. */
function joinColumns(text) {
  const table = /^\| (Property|Parameter) \| Type \| Description \|\n.*\n((?:\|.*\n)*)/gm;
  const row = /^\| (.*?) \| (.*?) \| (.*) \|$/gm;
  return text.replaceAll(table, (_, name, rows) => {
    const joined = rows.replaceAll(row, (__, field, type, meaning) => {
      return `| ${field} | ${meaning === "-" ? type : `${type}<br>${meaning}`} |`;
    });
    return `| ${name} | Type and meaning |\n| --- | --- |\n${joined}`;
  });
}
