import {
  checkedClock,
  checkedLater,
  checkOptions,
  checkText,
  type OptionChecks,
  checkFunction,
  wholeFrom,
} from "../base/check-option.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import { type Principal, sessionKey } from "../session/principal.ts";
import {
  openText,
  purposeKeys,
  type SealingKeys,
  sealText,
  type UnreadableReason,
} from "./sealed-text.ts";

/** The keys, and the binding of a sealed state. `unsealState` takes the same, without `expiresInMs`. */
export interface SealStateOptions {
  /** Seal and open; the previous key only opens. */
  readonly keys: SealingKeys;
  /** The agent session that owns the state. */
  readonly sessionId: string;
  /** The principal of the agent session; never taken from the sealed state. */
  readonly principal: Principal;
  /** The longest sealed state, in characters. A cookie holds about 4000. @default 1000000 */
  readonly maxLength?: number | undefined;
  /** The sealed state expires after this time, in milliseconds. @default 604800000 (7 days) */
  readonly expiresInMs?: number | undefined;
  /** The clock, in milliseconds since 1970-01-01 UTC. @default Date.now */
  readonly now?: (() => number) | undefined;
}

/** A sealed state, or the reason why there is none. */
export type SealStateResult =
  | { readonly sealed: string; readonly reason?: undefined }
  | { readonly sealed: undefined; readonly reason: "too-large" };

/**
 * The reason why a sealed state was not used.
 *
 * - `malformed`: `sealState` did not make it.
 * - `too-large`: it is longer than `maxLength`.
 * - `unknown-key`: it was sealed with a key that is neither the current nor the previous one.
 * - `tampered`: it, or the key's name in it, was changed.
 * - `expired`: it was sealed too long ago.
 * - `other-session`, `other-principal`: it is genuine, but belongs to another agent session or principal.
 */
export type UnsealStateReason =
  | UnreadableReason
  | "too-large"
  | "expired"
  | "other-session"
  | "other-principal";

/** The state, or the reason why there is none. Without both there was nothing to unseal. */
export interface UnsealStateResult {
  /** For `provider.create({ state })`; `undefined` starts fresh sessions. */
  readonly state: unknown;
  readonly reason?: UnsealStateReason | undefined;
}

/**
 * Seals a state for somebody else to hold, such as a browser in a cookie. Nobody without the keys can
 * read or change it. It counts for this agent session and principal alone, until it expires. An older
 * sealed state of the same session stays valid until its own expiry.
 *
 * @returns the sealed text (letters, digits, `-`, `_` and `.`), or that it is longer than `maxLength`
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option; `PRINCIPAL_REQUIRED`;
 *   `STATE_INVALID` if the state is not JSON
 */
export async function sealState(
  state: unknown,
  options: SealStateOptions,
): Promise<SealStateResult> {
  checkOptions(options, { ...unsealChecks, expiresInMs: wholeFrom(1) });
  const { expiresInMs = 7 * 24 * 3_600_000 } = options;
  const { sessionId, principal, maxLength, now } = readOptions(options);
  const [key] = await purposeKeys(options.keys, "state");
  const expiresAt = now() + expiresInMs;
  const sealed = await sealText(printClaims({ sessionId, principal, expiresAt, state }), key);
  return sealed.length > maxLength ? { sealed: undefined, reason: "too-large" } : { sealed };
}

/**
 * Opens a state that `sealState` sealed, if it is genuine, belongs to this agent session and principal,
 * and has not expired. For any other input `state` is `undefined`, and `reason` tells why, for your log.
 *
 * @param sealed data from outside. For `undefined`, `null` and `""` there is neither state nor reason
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option; `PRINCIPAL_REQUIRED`
 */
export async function unsealState(
  sealed: unknown,
  options: Omit<SealStateOptions, "expiresInMs">,
): Promise<UnsealStateResult> {
  checkOptions(options, unsealChecks);
  const { sessionId, principal, maxLength, now } = readOptions(options);
  const keys = await purposeKeys(options.keys, "state");
  if (sealed === undefined || sealed === null || sealed === "") return { state: undefined };
  if (typeof sealed !== "string") return refused("malformed");
  if (sealed.length > maxLength) return refused("too-large");
  const opened = await openText(sealed, keys, 0);
  if ("reason" in opened) return refused(opened.reason);
  // Only `sealState` can have written it.
  const claims = JSON.parse(opened.text) as Claims;
  if (claims.sessionId !== sessionId) return refused("other-session");
  if (claims.principal !== principal) return refused("other-principal");
  if (claims.expiresAt <= now()) return refused("expired");
  return { state: claims.state };
}

/** The encrypted content: the state and its binding. */
interface Claims {
  readonly sessionId: string;
  /** A key with the principal's parts. */
  readonly principal: string;
  readonly expiresAt: number;
  readonly state?: unknown;
}

function printClaims(claims: Claims): string {
  try {
    return JSON.stringify(claims);
  } catch (cause) {
    const data = { field: "state" };
    throw new McpSessionError("STATE_INVALID", "The state must be JSON.", { data, cause });
  }
}

const unsealChecks: OptionChecks<Omit<SealStateOptions, "expiresInMs">> = {
  keys: checkedLater,
  sessionId: checkedLater,
  principal: checkedLater,
  maxLength: wholeFrom(1),
  now: checkFunction,
};

function readOptions(options: Omit<SealStateOptions, "expiresInMs">) {
  const { sessionId, principal, maxLength = 1_000_000, now } = options;
  checkText(sessionId, "sessionId");
  const key = sessionKey({ connection: "state", principal });
  return { sessionId, principal: key, maxLength, now: checkedClock(now) };
}

function refused(reason: UnsealStateReason): UnsealStateResult {
  return { state: undefined, reason };
}
