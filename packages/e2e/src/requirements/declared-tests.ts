import { globSync, readFileSync } from "node:fs";
import { parseAst } from "rolldown/parseAst";

/** A test as the source declares it. */
export interface DeclaredTest {
  /** Under `packages/`. */
  readonly file: string;
  /** "describe > describe > test", before `%s` and `$name` are filled in. */
  readonly title: string;
}

const packages = new URL("../../../", import.meta.url);

/** The tests of all packages, read from their sources: a comment is none, and neither is one that is skipped. */
export function readDeclaredTests(): DeclaredTest[] {
  const files = globSync("*/{src,test}/**/*.test.ts", { cwd: packages }).toSorted();
  return files.flatMap((file) =>
    declaredTitles(readFileSync(new URL(file, packages), "utf8")).map((title) => ({ file, title })),
  );
}

/** The titles of the tests in a source text. */
export function declaredTitles(source: string): string[] {
  const titles: string[] = [];
  const visit = (node: unknown, path: readonly string[]): void => {
    if (Array.isArray(node)) {
      for (const item of node) visit(item, path);
    } else if (isNode(node)) {
      const call = asTestCall(node, source);
      if (call?.isSkipped) return;
      const inner = call ? [...path, call.title] : path;
      if (call?.isTest) titles.push(inner.join(" > "));
      for (const child of Object.values(node)) visit(child, inner);
    }
  };
  visit(parseAst(source, { lang: "ts" }).body, []);
  return titles;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}

/** `test("…", …)`, `it.each(…)("…", …)`, `describe.skipIf(…)("…", …)` and the like. */
function asTestCall(node: Node, source: string) {
  if (node.type !== "CallExpression") return undefined;
  const [first] = node["arguments"] as Node[];
  if (first === undefined || (first.type !== "Literal" && first.type !== "TemplateLiteral")) {
    return undefined;
  }
  let callee = node["callee"] as Node;
  const modifiers: unknown[] = [];
  while (callee.type === "CallExpression" || callee.type === "MemberExpression") {
    if (callee.type === "MemberExpression") modifiers.push((callee["property"] as Node)["name"]);
    callee = (callee["callee"] ?? callee["object"]) as Node;
  }
  const { name } = callee;
  if (name !== "test" && name !== "it" && name !== "describe") return undefined;
  return {
    isTest: name !== "describe",
    isSkipped: modifiers.includes("skip") || modifiers.includes("todo"),
    title:
      typeof first["value"] === "string"
        ? first["value"]
        : source.slice(first.start + 1, first.end - 1),
  };
}

/** The requirements that a title cites, as in "resumes (S5, S59)". */
export function citedIds(title: string): string[] {
  return [...title.matchAll(/\(([SMBD]\d+(?:[,;] ?[^()]*)?)\)/g)].flatMap(([, list = ""]) =>
    list.split(/[,;]/).map((id) => id.trim()),
  );
}
