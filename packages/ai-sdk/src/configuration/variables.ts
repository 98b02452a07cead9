import { invalid } from "@durable-mcp/core/internal";

export type Variables = Readonly<Record<string, string | undefined>>;

/** `${NAME}`, `${env:NAME}`, `${NAME:-default}`, and what editors ask for, such as `${input:key}`. */
const reference = /\$\{([^}]*)\}/g;
const parts = /^(?<name>(?:[A-Za-z]+:)?[A-Za-z_][\w.-]*)(?::-(?<fallback>.*))?$/s;
/** `$NAME` at the end of a value: some clients substitute it, and others send it as it is. */
const unbraced = /(?:^|\s)\$[A-Z_][A-Z0-9_]*$/;

/**
 * A text with the values of its variables.
 *
 * @param field names the text in errors
 * @throws {McpSessionError} `CONNECTION_INVALID` for a variable without a value
 */
export function substitute(text: string, variables: Variables, field: string): string {
  return text.replaceAll(reference, (_, inside: string) => {
    const { name, fallback } = parts.exec(inside)?.groups ?? {};
    if (name === undefined) {
      const forms = "${NAME}, ${env:NAME} and ${NAME:-default}";
      throw invalid(
        field,
        `${field} has a variable without a usable name. The forms are ${forms}.`,
      );
    }
    const key = Object.hasOwn(variables, name) ? name : name.replace(/^env:/, "");
    const value = Object.hasOwn(variables, key) ? variables[key] : undefined;
    // An empty variable is one that somebody forgot to fill.
    if (value) return value;
    if (fallback !== undefined) return fallback;
    throw invalid(
      field,
      `${field} needs the variable ${key}, which is missing or empty. Give it in variables: { ${JSON.stringify(key)}: … }, or a default in the text.`,
    );
  });
}

/**
 * The same for values that no shell reads.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID` for `$NAME`, which would be sent as it is
 */
export function substituteAll(
  texts: Readonly<Record<string, string>>,
  variables: Variables,
  path: string,
): Record<string, string> {
  const entries = Object.entries(texts).map(([name, text]) => {
    const field = `${path}.${name}`;
    if (!unbraced.test(text)) return [name, substitute(text, variables, field)] as const;
    throw invalid(
      field,
      `${field} has a variable without braces. Write \${NAME}, or give the value in overrides if it is none.`,
    );
  });
  return Object.fromEntries(entries);
}
