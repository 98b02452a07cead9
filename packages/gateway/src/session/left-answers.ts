import {
  isRecord,
  type JsonRpcId,
  textDigest,
  tryInsistently,
  wait,
  within,
} from "@durable-mcp/core/internal";
import { type JsonValue, principalParts, type SessionStore } from "@durable-mcp/core";
import type { Centre } from "./upstreams.ts";
import type { ClientSession } from "./client-session.ts";
import type { CallStream, ServerEvent } from "./call-stream.ts";

/** Each is kept for this long, in milliseconds. */
const keptMs = 600_000;
/** A process that holds a call says so this often, in milliseconds. */
const sayMs = 2_000;
/** One that has not said so for this long is gone, in milliseconds. */
const goneMs = 6_000;
const askMs = 200;
/** Another process has this long to notice that its client has left, in milliseconds. */
const noticeMs = 1_500;
/** An answer that the store does not take is tried again for this long, in milliseconds. */
const tryMs = 30_000;

/** What is left of a call whose client has gone: what came after its first event, and the place of the rest. */
interface Left {
  readonly stream: string;
  readonly next?: ServerEvent | undefined;
}

/** Or the process waits for the answer, and was there at that time. */
type LeftAnswer = Left | { readonly heldAt: number };

async function placeOf({ of, key }: ClientSession, requestId: JsonRpcId): Promise<string> {
  const digest = await textDigest(JSON.stringify([of.connection, key, requestId]));
  return `gateway-answer/${digest}`;
}

async function put(
  { store, now }: Centre,
  session: ClientSession,
  key: string,
  value: LeftAnswer,
): Promise<void> {
  const owner = JSON.stringify(principalParts(session.of.principal));
  const current = await store.get(key);
  const kept = value as unknown as JsonValue;
  await store.put(key, kept, current?.revision ?? null, { owner, expiresAt: now() + keptMs });
}

/**
 * Says to other processes what becomes of a call whose client has left. Only such calls cost the store something.
 * Never rejects.
 */
export async function leaveAnswer(
  centre: Centre,
  session: ClientSession,
  requestId: JsonRpcId,
  call: CallStream,
  next: ServerEvent | undefined,
): Promise<void> {
  const key = await placeOf(session, requestId);
  while (!call.isOver && !call.hasClient) {
    // Others wait for three of them, so one may fail.
    await put(centre, session, key, { heldAt: centre.now() }).catch(() => undefined);
    await within(sayMs, call.changed());
  }
  const stream = call.hasClient ? undefined : call.textSoFar();
  if (stream === undefined) return;
  const keep = () => put(centre, session, key, { stream, ...(next && { next }) });
  await tryInsistently(tryMs, keep).catch(() => undefined);
}

const settles = (work: Promise<unknown>) =>
  work.then(
    () => true,
    () => false,
  );

/** Waits for what another process has of a call; `undefined` if none has it. */
export async function findLeftAnswer(
  { store, now }: Centre,
  session: ClientSession,
  requestId: JsonRpcId,
  over: AbortSignal,
): Promise<Left | undefined> {
  const key = await placeOf(session, requestId);
  for (let waited = 0; !over.aborted; waited += askMs) {
    if (waited > 0) await wait(askMs);
    const looking = read(store, key);
    // A store that is away is looked at again. After a while the client comes back for it.
    if (waited < goneMs && !(await settles(looking))) continue;
    const left = await looking;
    if (left && !("heldAt" in left)) return left;
    const isHeld = left !== undefined && now() - left.heldAt < goneMs;
    if (!isHeld && (left !== undefined || waited >= noticeMs)) return undefined;
  }
  return undefined;
}

async function read(store: SessionStore, key: string): Promise<LeftAnswer | undefined> {
  const value = (await store.get(key))?.value;
  if (!isRecord(value)) return undefined;
  const { heldAt, stream, next } = value;
  if (typeof heldAt === "number") return { heldAt };
  if (typeof stream !== "string") return undefined;
  const { eventId, era } = isRecord(next) ? next : {};
  const isKnown = typeof eventId === "string" && typeof era === "number";
  return isKnown ? { stream, next: { eventId, era } } : { stream };
}
