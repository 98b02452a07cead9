import { invalidOption } from "../base/check-option.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import type { Principal } from "../session/principal.ts";
import { sessionKey } from "../session/session-key.ts";
import { openText, sealText, type UnreadableReason } from "./sealed-text.ts";
import { purposeKeys, type SealingKeys } from "./sealing-keys.ts";

/** The keys, and what a sealed state is bound to. `unsealState` takes the same, without the time. */
export interface SealStateOptions {
  readonly keys: SealingKeys;
  /** The agent session that the state is of. */
  readonly sessionId: string;
  /** On whose behalf the agent session goes on; never taken from the sealed state. */
  readonly principal: Principal;
  /** How long a sealed state may be, in characters. A cookie holds about 4000. @default 1000000 */
  readonly maxLength?: number | undefined;
  /** For how long it can be unsealed, in milliseconds. @default 604800000 (7 days) */
  readonly expiresInMs?: number | undefined;
  /** The clock, in milliseconds since 1970-01-01 UTC. @default Date.now */
  readonly now?: (() => number) | undefined;
}

/** A sealed state, or why there is none. */
export type SealStateResult =
  | { readonly sealed: string; readonly reason?: undefined }
  | { readonly sealed: undefined; readonly reason: "too-large" };

/**
 * Why a sealed state was not used.
 *
 * - `malformed`: it is not what `sealState` makes.
 * - `too-large`: it is longer than `maxLength`.
 * - `unknown-key`: it was sealed with a key that is neither the current nor the previous one.
 * - `tampered`: it, or the key's name in it, was changed.
 * - `expired`: its time is over.
 * - `other-session`, `other-principal`: it is genuine, and of another agent session or principal.
 */
export type UnsealStateReason =
  | UnreadableReason
  | "too-large"
  | "expired"
  | "other-session"
  | "other-principal";

/** The state, or none and why. With neither there was nothing to unseal. */
export interface UnsealStateResult {
  /** For `provider.create({ state })`; `undefined` starts fresh sessions. */
  readonly state: unknown;
  readonly reason?: UnsealStateReason | undefined;
}

const defaultMaxLength = 1_000_000;
const defaultExpiresInMs = 7 * 24 * 3_600_000;

/**
 * Seals a state that somebody else is to hold, such as a browser in a cookie: nobody without the
 * keys can read or change it, and it counts for this agent session and principal alone, until it
 * expires. An older sealed state of the same session stays valid until then.
 *
 * @returns the sealed text (letters, digits, `-`, `_` and `.`), or that it is longer than `maxLength`
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option; `PRINCIPAL_REQUIRED`;
 *   `STATE_INVALID` when the state is not JSON
 */
export async function sealState(
  state: unknown,
  { expiresInMs = defaultExpiresInMs, ...options }: SealStateOptions,
): Promise<SealStateResult> {
  const { sessionId, principal, maxLength, now } = checkOptions(options);
  if (!Number.isFinite(expiresInMs) || expiresInMs <= 0) {
    throw invalidOption("expiresInMs", "must be a number of milliseconds above 0");
  }
  const [key] = await purposeKeys(options.keys, "state");
  const expiresAt = now() + expiresInMs;
  const sealed = await sealText(printClaims({ sessionId, principal, expiresAt, state }), key);
  return sealed.length > maxLength ? { sealed: undefined, reason: "too-large" } : { sealed };
}

/**
 * The state that `sealState` sealed, if it is genuine, of this agent session and principal, and not
 * expired. Whatever else it is given means a fresh start: `state` is `undefined`, and `reason` says
 * why, for your log.
 *
 * @param sealed what came back: data from outside. `undefined`, `null` and `""` are no state and no
 *   reason
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option; `PRINCIPAL_REQUIRED`
 */
export async function unsealState(
  sealed: unknown,
  options: Omit<SealStateOptions, "expiresInMs">,
): Promise<UnsealStateResult> {
  const { sessionId, principal, maxLength, now } = checkOptions(options);
  const keys = await purposeKeys(options.keys, "state");
  if (sealed === undefined || sealed === null || sealed === "") return { state: undefined };
  if (typeof sealed !== "string") return refused("malformed");
  if (sealed.length > maxLength) return refused("too-large");
  const opened = await openText(sealed, keys, { maxDecompressedLength: 0 });
  if ("reason" in opened) return refused(opened.reason);
  // Only `sealState` can have written it.
  const claims = JSON.parse(opened.text) as Claims;
  if (claims.sessionId !== sessionId) return refused("other-session");
  if (claims.principal !== principal) return refused("other-principal");
  if (claims.expiresAt <= now()) return refused("expired");
  return { state: claims.state };
}

/** What is encrypted: the state and all that it is bound to. */
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
    throw new McpSessionError("STATE_INVALID", "The state must be JSON.", {
      data: { field: "state" },
      cause,
    });
  }
}

function checkOptions({
  sessionId,
  principal,
  maxLength = defaultMaxLength,
  now = Date.now,
}: Omit<SealStateOptions, "expiresInMs">) {
  if (typeof sessionId !== "string" || sessionId.length === 0) {
    throw invalidOption("sessionId", "must be a non-empty string");
  }
  if (!Number.isSafeInteger(maxLength) || maxLength <= 0) {
    throw invalidOption("maxLength", "must be a whole number above 0");
  }
  return { sessionId, principal: sessionKey({ connection: "state", principal }), maxLength, now };
}

function refused(reason: UnsealStateReason): UnsealStateResult {
  return { state: undefined, reason };
}
