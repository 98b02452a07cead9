import { abortable, createScrubber, scrubJson, timeLimited } from "@durable-mcp/core/internal";
import type { Facts, Outcome, Row } from "./findings.ts";
import type { OpenSessions } from "./open-sessions.ts";
import type { Answer, Wire } from "./wire.ts";

/** The time limits of a probe, in milliseconds. */
export interface Limits {
  readonly requestMs: number;
  /** How long a session is watched after its listening stream has closed. */
  readonly watchMs: number;
}

export interface ProbeContext {
  readonly wire: Wire;
  readonly sessions: OpenSessions;
  /** What is sent with each request; secret. */
  readonly headers: Readonly<Record<string, string>>;
  readonly limits: Limits;
  readonly signal: AbortSignal;
}

/** What a check has shown. */
export interface CheckResult {
  readonly outcome: Outcome;
  readonly says: string;
  readonly facts?: Facts | undefined;
  /** Set if the server refused because of who asks. */
  readonly refused?: Answer | undefined;
}

/** Takes the results of checks, in their order. */
export interface Checklist {
  readonly facts: Facts;
  readonly rows: () => readonly Row[];
  /**
   * Makes one check. Its failure is a row, and so is its time limit.
   *
   * @returns its result; `undefined` if it came to none
   */
  readonly run: (
    name: string,
    check: (context: ProbeContext) => Promise<CheckResult>,
    options?: { readonly limitMs?: number },
  ) => Promise<CheckResult | undefined>;
}

/** Several requests fit into a check. */
const requestsOfACheck = 3;

/** @param onStart is told the name of each check */
export function createChecklist(
  context: ProbeContext,
  onStart: (check: string) => void,
): Checklist {
  const facts: Facts = {};
  const rows = new Map<string, Row | undefined>();

  const add = (check: string, { outcome, says, facts: found = {} }: CheckResult) => {
    const { headers, sessions, wire } = context;
    const scrub = createSecretScrubber(headers, sessions.ids(), wire.url);
    rows.set(check, { check, outcome, says: scrub(says) });
    Object.assign(facts, scrubJson(found, scrub));
  };
  return {
    facts,
    rows: () => [...rows.values()].filter((row) => row !== undefined),
    async run(name, check, { limitMs = context.limits.requestMs * requestsOfACheck } = {}) {
      onStart(name);
      // The rows have the order in which checks began.
      rows.set(name, undefined);
      try {
        const result = await timeLimited(limitMs, context.signal, (signal) =>
          // Not every check listens to its signal.
          abortable(check({ ...context, signal, wire: context.wire.until(signal) }), signal),
        );
        add(name, result);
        return result;
      } catch (error) {
        context.signal.throwIfAborted();
        const says = error instanceof Error ? error.message : String(error);
        add(name, { outcome: "failed", says });
        return undefined;
      }
    },
  };
}

/** Shorter values of a query, such as numbers, are no secrets. */
const minLength = 6;

/** Takes session ids and credentials, a query's too, out of a text, before it is cut or shown. */
export function createSecretScrubber(
  headers: Readonly<Record<string, string>>,
  ids: readonly string[],
  url?: URL,
): (text: string) => string {
  const queried = [...(url?.searchParams.values() ?? [])];
  // A server may repeat a token without its scheme.
  const secrets = [
    ...Object.values(headers).flatMap((value) => [value, value.split(" ").at(-1) ?? ""]),
    ...queried.filter((value) => value.length >= minLength),
  ];
  const withoutIds = createScrubber(ids, "<id>");
  const withoutSecrets = createScrubber(secrets, "<secret>");
  return (text) => withoutSecrets(withoutIds(text));
}
