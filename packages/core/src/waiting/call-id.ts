import { randomToken } from "../base/random-token.ts";
import { isRecord } from "../base/json-values.ts";
import { textDigest } from "../base/text-digest.ts";

/** What a call is told apart by, beside its agent session and principal. */
export interface CallIdentity {
  readonly connection: string;
  readonly method: string;
  /** The name of the tool or prompt, or the resource's URI. */
  readonly tool: string;
  /** As the caller gave it. */
  readonly input: unknown;
  /** The model's id of the call; `undefined` for a call that is made once. */
  readonly toolCallId?: string | undefined;
  /** What else tells the call apart, such as the task of a graph that runs again. @default nothing */
  readonly scope?: string | undefined;
}

/** Whether the same call, made again, can be recognized. */
export function isNamed({ toolCallId, scope }: CallIdentity): boolean {
  return toolCallId !== undefined || scope !== undefined;
}

/** The digest of what is called, and with what. The order of members does not matter. */
export async function callDigest({ method, tool, input }: CallIdentity): Promise<string> {
  // A tool's schema may make other values of the model's, such as dates, and messages keep their JSON.
  const [json] = JSON.parse(JSON.stringify([input])) as [unknown];
  return await textDigest(JSON.stringify([method, tool, ordered(json)]));
}

/** Whether a call has this digest. Its input may come from a browser, and nest too deep for any call. */
export async function hasDigest(call: CallIdentity, expected: string): Promise<boolean> {
  return (await callDigest(call).catch(() => undefined)) === expected;
}

/**
 * The id of a call's record. The same call, made again by a step that is run again, has the same id.
 *
 * @param turn models reuse their ids: counts the calls that are alike, from 0
 */
export async function callId(call: CallIdentity, turn: number): Promise<string> {
  if (!isNamed(call)) return randomToken();
  const { connection, toolCallId = null, scope } = call;
  const parts = [connection, toolCallId, await callDigest(call)];
  if (scope !== undefined) parts.push(scope);
  const id = (await textDigest(JSON.stringify(parts))).slice(0, 32);
  return turn === 0 ? id : `${id}.${turn}`;
}

/** A JSON value with the members of its objects in order, because databases change it. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (!isRecord(value)) return value;
  const sorted: Record<string, unknown> = Object.create(null);
  for (const name of Object.keys(value).toSorted()) sorted[name] = ordered(value[name]);
  return sorted;
}
