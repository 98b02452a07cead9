import { sentScrubber } from "@durable-mcp/sessions/internal";
import { abortable, createScrubber, scrubJson, timeLimited } from "@durable-mcp/core/internal";
import { renderTable } from "../output/table.ts";
import type { Ending, OpenSessions } from "./open-sessions.ts";
import type { Answer, Refusal, Wire } from "./wire.ts";

/** `ok`, what durable-mcp hopes for; `note`, worth knowing; `warning`, costs something; `failed`, no answer. */
export type Outcome = (typeof outcomes)[number];

/** The worst is the last one. */
export const outcomes = ["ok", "note", "warning", "failed"] as const;

/** What one check has shown: a row of the table. */
export interface Row {
  readonly check: string;
  readonly outcome: Outcome;
  /** In sentences, for people. */
  readonly says: string;
}

const marks: Readonly<Record<Outcome, string>> = { ok: "✓", note: "i", warning: "!", failed: "✗" };

export function renderRows(rows: readonly Row[]): string {
  return renderTable(rows.map(({ check, outcome, says }) => [marks[outcome], check, says]));
}

/** What the checks know of a server behind a URL. What was not asked, or not answered, is missing. */
export interface Facts {
  /** An answer to `server/discover`. */
  modern?: { versions: readonly string[] };
  /** An answer to `initialize`. */
  handshake?: { version: string; hasSession: boolean };
  /** The transport of 2024-11-05. */
  oldTransport?: true;
  /** It answered, and not as an MCP server. */
  notMcp?: true;
  server?: { name: string; version: string; title?: string };
  /** As it declares them. */
  capabilities?: Readonly<Record<string, unknown>>;
  tools?: { names: readonly string[]; listChanged: boolean; ttlMs?: number };
  /** Whether it gives a second session beside the first. */
  manySessions?: boolean;
  unknownId?: Refusal;
  endedId?: Refusal & { ending: Ending };
  events?: "none" | "without ids" | "refused" | "accepted" | "replayed";
  listening?: { offered: boolean; survives?: boolean };
  /** Requests of a resumed step that makes one call. */
  resumedRequests?: number;
  authorization?: AuthorizationFacts;
  call?: { name: string; isError: boolean; ms: number };
}

export interface AuthorizationFacts {
  status: 401 | 403;
  /** Whether a credential was sent. */
  wasSent: boolean;
  issuer?: string;
  scopes?: readonly string[];
  /** How an application can become a client of the issuer. */
  registration?: readonly ("client ID metadata document" | "dynamic" | "pre-registered")[];
}

/** A call that was asked for. */
export interface CallToMake {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** A call may take its time, in milliseconds. */
  readonly timeoutMs: number;
}

/** How a server or a program is probed. */
export interface Probe {
  /** In milliseconds: of a request, and of the watch over a session whose listening stream has closed. */
  readonly limits: { readonly requestMs: number; readonly watchMs: number };
  /** @default no tool is called */
  readonly call?: CallToMake | undefined;
  /** Whether only its eras, its session and its tools are asked for. @default false */
  readonly isShort?: boolean | undefined;
  /** Ends the probe; its sessions are ended all the same. */
  readonly signal: AbortSignal;
  /** Told the name of each check as it begins. */
  readonly onStart: (check: string) => void;
}

export interface ProbeContext extends Pick<Probe, "limits" | "signal"> {
  readonly wire: Wire;
  readonly sessions: OpenSessions;
  /** What is sent with each request; secret. */
  readonly headers: Readonly<Record<string, string>>;
}

/** What a check has shown. */
export interface CheckResult {
  readonly outcome: Outcome;
  readonly says: string;
  readonly facts?: Facts | undefined;
  /** Set if the server refused because of who asks. */
  readonly refused?: Answer | undefined;
}

const resultOf =
  (outcome: Outcome) =>
  (says: string, facts?: Facts): CheckResult => ({ outcome, says, facts });
export const ok = resultOf("ok");
export const note = resultOf("note");
export const warning = resultOf("warning");
export const failed = resultOf("failed");

export type Checklist = ReturnType<typeof createChecklist>;

/** Several requests fit into a check. */
const requestsOfACheck = 3;

/** Takes the results of checks, in their order. */
export function createChecklist(context: ProbeContext, onStart: Probe["onStart"]) {
  const facts: Facts = {};
  const rows = new Map<string, Row | undefined>();
  const add = (check: string, { outcome, says, facts: found = {} }: CheckResult) => {
    const { headers, sessions, wire } = context;
    const scrub = createSecretScrubber(headers, sessions.ids, wire.url);
    rows.set(check, { check, outcome, says: scrub(says) });
    Object.assign(facts, scrubJson(found, scrub));
  };
  return {
    facts,
    rows: () => [...rows.values()].filter((row) => row !== undefined),
    /**
     * Makes one check. Its failure is a row, and so is its time limit.
     *
     * @returns its result; `undefined` if it came to none
     */
    async run(
      name: string,
      check: (context: ProbeContext) => Promise<CheckResult>,
      limitMs = context.limits.requestMs * requestsOfACheck,
    ): Promise<CheckResult | undefined> {
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
        add(name, failed(says));
        return undefined;
      }
    },
  };
}

/** Takes session ids and credentials, a URL's too, out of a text, before it is cut or shown. */
export function createSecretScrubber(
  headers: Readonly<Record<string, string>>,
  ids: readonly string[],
  url?: URL,
): (text: string) => string {
  const withoutIds = createScrubber(ids, "<id>");
  const withoutSecrets = sentScrubber(url, Object.values(headers), "<secret>");
  return (text) => withoutSecrets(withoutIds(text));
}
