import type { SessionStore } from "@durable-mcp/core";
import { invalidOption, isRecord, textDigest } from "@durable-mcp/core/internal";
import { once } from "../base/once.ts";

const loopback = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;

/**
 * Why a request is not for this studio: a page of another site may have sent it, or a name that leads here since a
 * moment ago.
 *
 * @param origin as of the options
 */
export function addressProblem(request: Request, origin: string | undefined): string | undefined {
  const host = request.headers.get("host") ?? new URL(request.url).host;
  const own = origin === undefined ? undefined : new URL(origin);
  if (own ? host !== own.host : !loopback.test(host))
    return "The studio is not reached under this name. Give createStudio its origin, such as https://ops.example.";
  if (request.method !== "POST") return undefined;
  const from = request.headers.get("origin") ?? "";
  const isOwn = URL.canParse(from) && (own ? from === own.origin : new URL(from).host === host);
  return isOwn ? undefined : "The form is not of this studio. Nothing was done.";
}

/** Where a store keeps the key of the forms' tokens. No record of a session has such a key. */
const keyName = "durable-mcp/studio";

/** The tokens of forms. No other program has them, one at another port of the same machine neither. */
export function createFormTokens(store: SessionStore) {
  /** All processes of the studio share it. */
  const secret = once(async () => await ownSecret(store));
  const of = async (operator: string): Promise<string> =>
    await textDigest(JSON.stringify([keyName, "form", operator, await secret()]));
  return {
    of,
    // Digests, whose comparison tells nothing of the token.
    isOf: async (operator: string, token: unknown): Promise<boolean> =>
      (await textDigest(String(token))) === (await textDigest(await of(operator))),
  };
}

async function ownSecret(store: SessionStore): Promise<string> {
  const stored = secretIn((await store.get(keyName))?.value);
  if (stored !== undefined) return stored;
  const secret = crypto.randomUUID() + crypto.randomUUID();
  const put = await store.put(keyName, { version: 1, secret }, null, { owner: keyName });
  return put.ok ? secret : (secretIn(put.current?.value) ?? secret);
}

function secretIn(value: unknown): string | undefined {
  const secret = isRecord(value) ? value["secret"] : undefined;
  return typeof secret === "string" && secret.length >= 72 ? secret : undefined;
}

/**
 * - `look`: sees chats, users, and what waits. Nothing else is allowed without it.
 * - `answer`: answers the questions of a server in the name of the user who was asked.
 * - `end`: ends sessions, and takes calls back.
 */
export type OperatorMay = "look" | "answer" | "end";

/** Who asks for a page, and what they may. */
export interface Operator {
  /** For the events of what they do. */
  readonly name: string;
  readonly may: readonly OperatorMay[];
}

/** @throws {McpSessionError} `CONNECTION_INVALID` for what is no operator */
export function checkOperator(value: unknown): Operator | undefined {
  if (value === undefined) return undefined;
  const { name, may } = isRecord(value) ? value : {};
  if (typeof name === "string" && name !== "" && Array.isArray(may)) return { name, may };
  const fix = 'must return { name, may: ["look"] }, or undefined for somebody who may nothing';
  throw invalidOption("authorize", fix);
}
