/** The protocol revisions that have sessions. */
export type Revision = "2025-03-26" | "2025-06-18" | "2025-11-25";

/** Where the specification says it: a page with its anchor, in these revisions. */
export interface SpecPlace {
  readonly page: `${string}#${string}`;
  readonly revisions: readonly string[];
  /** Guidance stands beside the specification. @default "specification" */
  readonly part?: "specification" | "docs";
}

/** The place's address in one of its revisions. */
export function specLink({ page, part = "specification" }: SpecPlace, revision: string): string {
  return `https://modelcontextprotocol.io/${part}/${revision}/${page.replace("/index#", "#")}`;
}

/**
 * One demand of the specification on a client or a server, or one deviation seen on the wire that
 * a client has to live with. Test titles cite it by its id, as in `(S5, S59)`.
 */
export interface Requirement {
  /** S: revisions with sessions. M: 2026-07-28. B: security best practices. D: seen on the wire. */
  readonly id: `${"S" | "M" | "B" | "D"}${number}`;
  readonly role: "client" | "server" | "both";
  readonly level: string;
  readonly spec: readonly SpecPlace[];
  /** What is asked, in our words. */
  readonly statement: string;
  /** The tests that cover it: file under `packages/`, and parts of titles, "describe > test". */
  readonly tests?: Readonly<Record<string, readonly string[]>>;
  /** What there is to say beside the tests; needed where there are none. */
  readonly note?: string;
}

const sessionRevisions: readonly Revision[] = ["2025-03-26", "2025-06-18", "2025-11-25"];

/** A place that is the same in all revisions with sessions, or in those that are named. */
export function inSpec(
  page: SpecPlace["page"],
  revisions: readonly Revision[] = sessionRevisions,
): readonly SpecPlace[] {
  return [{ page, revisions }];
}

/** A place in the first revision without sessions. */
export function inStatelessSpec(page: SpecPlace["page"]): readonly SpecPlace[] {
  return [{ page, revisions: ["2026-07-28"] }];
}
