import { parseAst } from "rolldown/parseAst";

/** One fault in one line of a source file. */
export interface Mutation {
  readonly start: number;
  readonly end: number;
  /** What stands in the place of the text from `start` to `end`. */
  readonly text: string;
  /** Runs whenever the place does. A literal that is a key has none. */
  readonly around?: { readonly start: number; readonly end: number; readonly isStatement: boolean };
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

const otherOperators: Readonly<Record<string, string>> = {
  "===": "!==",
  "!==": "===",
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "+": "-",
  "-": "+",
  "&&": "||",
  "||": "&&",
  "??": "&&",
};

/** Every one-line fault that this program knows how to make in a TypeScript source. */
export function findMutations(source: string): Mutation[] {
  const found: Mutation[] = [];
  const visit = (value: unknown, key = ""): void => {
    if (Array.isArray(value)) return value.forEach((each) => visit(each));
    if (!isNode(value)) return;
    // Types do nothing at run time.
    if (value.type.startsWith("TS") && !("expression" in value)) return;
    const { start, end, type } = value;
    const around = key === "key" ? {} : { around: { start, end, isStatement: isStatement(type) } };
    found.push(...mutationsOf(value, source).map((mutation) => ({ ...around, ...mutation })));
    for (const [name, member] of Object.entries(value)) visit(member, name);
  };
  visit(parseAst(source, { lang: "ts" }));
  return found.filter(({ start, end }) => !source.slice(start, end).includes("\n"));
}

/**
 * @param note what notes that a place runs: an expression, by the number of the place
 * @returns the source, which notes each of the places that run
 */
export function notePlaces(
  source: string,
  places: readonly Mutation[],
  note: (place: number) => string,
): string {
  const marks = places.flatMap(({ around }, place) => {
    if (around === undefined) return [];
    const { start, end, isStatement } = around;
    const [open, between, close] = isStatement ? ["{ ", "; ", " }"] : ["(", ", (", "))"];
    // Where one ends and another begins the end comes first; of two at one place, the outer begins first and ends last.
    return [
      { at: start, order: source.length - (end - start), text: `${open}${note(place)}${between}` },
      { at: end, order: end - start - source.length, text: close },
    ];
  });
  return marks
    .toSorted((a, b) => b.at - a.at || b.order - a.order)
    .reduce((noted, { at, text }) => noted.slice(0, at) + text + noted.slice(at), source);
}

const isStatement = (type: string) => type === "ExpressionStatement" || type === "ReturnStatement";

function mutationsOf(node: Node, source: string): Mutation[] {
  const { start, end } = node;
  switch (node.type) {
    case "BinaryExpression":
    case "LogicalExpression": {
      const { left, right, operator } = node as unknown as {
        left: Node;
        right: Node;
        operator: string;
      };
      const other = otherOperators[operator];
      const at = source.indexOf(operator, left.end);
      if (other === undefined || at === -1 || at >= right.start) return [];
      return [{ start: at, end: at + operator.length, text: other }];
    }
    case "UnaryExpression":
      return node["operator"] === "!" ? [{ start, end: start + 1, text: "" }] : [];
    case "IfStatement":
    case "ConditionalExpression": {
      const test = node["test"] as Node;
      const text = `!(${source.slice(test.start, test.end)})`;
      const around = { start: test.start, end: test.end, isStatement: false };
      return [{ start: test.start, end: test.end, text, around }];
    }
    case "Literal": {
      const { value } = node;
      if (typeof value === "boolean") return [{ start, end, text: String(!value) }];
      return typeof value === "number" ? [{ start, end, text: String(value + 1) }] : [];
    }
    case "ExpressionStatement": {
      const { type } = node["expression"] as Node;
      const acts = ["CallExpression", "AwaitExpression", "AssignmentExpression"].includes(type);
      return acts ? [{ start, end, text: ";" }] : [];
    }
    case "ReturnStatement": {
      const isLeft = node["argument"] !== null;
      return isLeft ? [{ start, end, text: "return undefined as never;" }] : [];
    }
  }
  return [];
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}
