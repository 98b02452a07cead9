/** A resource that is watched. What lies between two looks is not seen. */

import { abortable, timeLimited } from "../../base/bounded-wait.ts";
import { isRecord } from "../../base/json-values.ts";
import { textDigest } from "../../base/text-digest.ts";
import type { NewsBody } from "../record/inbox.ts";
import { waitingCallOf } from "../record/waiting-call.ts";

/** Sends a request on the connection's session, or without one. @throws the server's error, with its `code` */
export type AskServer = (
  request: { readonly params: Readonly<Record<string, unknown>> },
  signal?: AbortSignal,
) => Promise<Readonly<Record<string, unknown>>>;

/** What a look may take, in milliseconds. */
const limitMs = 30_000;
/** What an entry has of the texts of a resource, in characters. */
const maxLength = 20_000;
/** What it has of their number, and of a URI or a media type, in characters. */
const [maxContents, maxName] = [50, 1_000];
/** How servers say that there is no such resource: `-32002`, and since 2026-07-28 `-32602`. */
const missing: ReadonlySet<unknown> = new Set([-32_002, -32_602]);

/**
 * Reads a resource.
 *
 * @param position of what was found last; `undefined`: the watch begins, and what is there is no news
 */
export async function lookAtResource(
  position: string | undefined,
  ask: (signal: AbortSignal) => ReturnType<AskServer>,
  signal?: AbortSignal,
): Promise<{ readonly position: string; readonly news?: NewsBody }> {
  const contents = await timeLimited(limitMs, signal, (bounded) =>
    abortable(ask(bounded), bounded),
  ).then(contentsOf, (error: unknown) => {
    // Whoever begins to watch it has perhaps misspelt it.
    if (position === undefined || !missing.has(isRecord(error) && error["code"])) throw error;
    return undefined;
  });
  const now = await textDigest(JSON.stringify(contents ?? null));
  if (position === undefined || now === position) return { position: now };
  return { position: now, news: { ...newsOf(contents), position: now } };
}

function contentsOf(result: Readonly<Record<string, unknown>>): Record<string, unknown>[] {
  const { contents } = result;
  // Questions of the server wait for an answer, as those of any other request.
  if (waitingCallOf(result) || !Array.isArray(contents))
    throw new Error("The server has not answered with the contents of the resource.");
  return contents.filter(isRecord).map(({ _meta, ...own }) => own);
}

/** The texts, cut, and what is there of other kinds: whatever a server sends, a store and a model take it. */
function newsOf(contents: readonly Record<string, unknown>[] | undefined): NewsBody {
  let left = maxLength;
  const data = contents?.slice(0, maxContents).map(({ uri, mimeType, text, blob }) => {
    const about = { ...named("uri", uri), ...named("mimeType", mimeType) };
    if (typeof text !== "string") return { ...about, bytes: Math.floor((lengthOf(blob) * 3) / 4) };
    const kept = text.slice(0, left).toWellFormed();
    left -= kept.length;
    return { ...about, text: kept };
  });
  const all = (contents ?? []).reduce((sum, { text }) => sum + lengthOf(text), 0);
  const cut = all - (maxLength - left);
  const more = (contents?.length ?? 0) - maxContents;
  return {
    ...{ type: "changed", data: data ?? null },
    ...(cut > 0 && { cut }),
    ...(more > 0 && { more }),
  };
}

const lengthOf = (text: unknown) => (typeof text === "string" ? text.length : 0);

function named(name: string, text: unknown): Record<string, string> {
  return typeof text === "string" ? { [name]: text.slice(0, maxName).toWellFormed() } : {};
}
