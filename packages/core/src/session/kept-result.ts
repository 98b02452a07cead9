/**
 * A result that the server, or the application, allows to keep: discovery, a handshake, a page of a list.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching
 */
export interface KeptResult {
  readonly method: KeptMethod;
  /**
   * The protocol version and the capabilities in the `_meta` of the request, as JSON. Another client can
   * get another result. Without it the result is of a revision with sessions, whose lists name neither.
   */
  readonly client?: string | undefined;
  /** The page of a list. @default the first */
  readonly cursor?: string | undefined;
  /** As the server sent it. */
  readonly result: Record<string, unknown>;
  /** The arrival, in milliseconds since 1970-01-01 UTC. */
  readonly receivedAt: number;
  /** From then on the result answers no client. It is only compared with the next one. */
  readonly until: number;
  /** Who may see it. A slot is of one principal, so nothing is shared, whatever the server allows. */
  readonly scope: "public" | "private";
  /** With `initialize`: the server refused `server/discover`. */
  readonly refusesProbe?: true | undefined;
}

export type KeptMethod = (typeof keptMethods)[number];

const keptMethods = [
  "server/discover",
  "initialize",
  "tools/list",
  "prompts/list",
  "resources/list",
  "resources/templates/list",
] as const;

export function isKeptMethod(method: unknown): method is KeptMethod {
  return (keptMethods as readonly unknown[]).includes(method);
}
