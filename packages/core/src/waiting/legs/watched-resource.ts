/** A resource that is watched. What lies between two looks is not seen. */

import { isRecord } from "../../base/json-values.ts";
import { textDigest } from "../../base/text-digest.ts";
import type { NewsBody } from "../record/inbox.ts";
import { waitingCallOf } from "../record/waiting-call.ts";

/** Sends a request on the connection's session, or without one. @throws the server's error, with its `code` */
export type AskServer = (
  request: { readonly params: Readonly<Record<string, unknown>> },
  signal?: AbortSignal,
) => Promise<Readonly<Record<string, unknown>>>;

/** What an entry has of the texts of a resource, in characters. */
const maxLength = 20_000;
/** How servers say that there is no such resource: `-32002`, and since 2026-07-28 `-32602`. */
const missing: ReadonlySet<unknown> = new Set([-32_002, -32_602]);

/**
 * Reads a resource.
 *
 * @param position of what was found last; `undefined`: the watch begins, and what is there is no news
 */
export async function lookAtResource(
  position: string | undefined,
  ask: () => ReturnType<AskServer>,
): Promise<{ readonly position: string; readonly news?: NewsBody }> {
  const contents = await ask().then(contentsOf, (error: unknown) => {
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

/** The texts, cut, and what is there of other kinds. */
function newsOf(contents: readonly Record<string, unknown>[] | undefined): NewsBody {
  let left = maxLength;
  let cut = 0;
  const data = contents?.map(({ text, blob = "", ...about }) => {
    if (typeof text !== "string")
      return { ...about, bytes: Math.floor((JSON.stringify(blob).length * 3) / 4) };
    const kept = text.slice(0, left);
    left -= kept.length;
    cut += text.length - kept.length;
    return { ...about, text: kept };
  });
  return { type: "changed", data: data ?? null, ...(cut > 0 && { cut }) };
}
