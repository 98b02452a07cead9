import { parseAst } from "rolldown/parseAst";

/** One fault in one line of a source file. */
export interface Mutation {
  readonly start: number;
  readonly end: number;
  /** What stands in the place of the text from `start` to `end`. */
  readonly text: string;
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
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit);
    if (!isNode(value)) return;
    // Types do nothing at run time.
    if (value.type.startsWith("TS") && !("expression" in value)) return;
    found.push(...mutationsOf(value, source));
    Object.values(value).forEach(visit);
  };
  visit(parseAst(source, { lang: "ts" }));
  return found.filter(({ start, end }) => !source.slice(start, end).includes("\n"));
}

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
      return [{ start: test.start, end: test.end, text }];
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
