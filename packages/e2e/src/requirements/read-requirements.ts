import { readFileSync } from "node:fs";

/**
 * The requirements manifest: what MCP asks of clients on sessions, the version header, streams, fallback and questions
 * to a person, and the tests that cover it. What it asks of servers is listed so that tests can cite it.
 */
const page = new URL("../../../../docs/reports/requirements.md", import.meta.url);

/**
 * One demand of the specification on a client or a server, or one deviation seen on the wire that
 * a client has to live with. Test titles cite it by its id, as in `(S5, S59)`.
 */
export interface Requirement {
  /** S: revisions with sessions. M: 2026-07-28. B: security best practices. D: seen on the wire. */
  readonly id: string;
  /** Client, server or both. */
  readonly role: string;
  readonly tests: readonly NamedTest[];
  /** Whether there is a test, or a reason why it needs none. */
  readonly isCovered: boolean;
}

interface NamedTest {
  /** Under `packages/`. */
  readonly file: string;
  /** Parts of titles, "describe > test". */
  readonly title: string;
}

/** The rows of the tables. */
export function readRequirements(markdown = readFileSync(page, "utf8")): Requirement[] {
  return markdown.split("\n").flatMap((line) => {
    const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
    const [, id = "", role = "", , , , covered = ""] = cells;
    if (!/^[SMBD]\d+$/.test(id)) return [];
    return [{ id, role, tests: namedTests(covered), isCovered: covered !== "" }];
  });
}

/** `[file](link): “title”, “title”`, and the same again. */
function namedTests(covered: string): NamedTest[] {
  const files = covered.matchAll(/\]\([^)]*\/packages\/([^)]+)\): (“[^”]*”(?:, “[^”]*”)*)/g);
  return [...files].flatMap(([, file = "", titles = ""]) =>
    [...titles.matchAll(/“([^”]*)”/g)].map(([, title = ""]) => ({
      file,
      title: title.replaceAll("\\|", "|").replaceAll("&lt;", "<"),
    })),
  );
}
