import type { SessionLoss } from "@durable-mcp/core";
import { classifyLoss, isRecord, scrubText } from "@durable-mcp/core/internal";

/** What a server says to a request with an id that it does not take, and what core makes of it. */
export interface Refusal {
  status: number;
  contentType: string;
  /** The message of a JSON-RPC error, or the body; the id left out. */
  text: string;
  loss: SessionLoss;
}

/** Longer words of a server are cut off. */
const maxLength = 160;

/** Reads a refusal. The body of an accepted request does not matter. */
export function refusalOf(
  { status, headers, body }: { status: number; headers: Headers; body: string },
  id: string,
): Refusal {
  const text = status < 400 ? "" : body;
  return {
    status,
    contentType: headers.get("content-type")?.split(";")[0] ?? "none",
    text: scrubText(wordsOf(text), [id], "<id>").trim().slice(0, maxLength),
    loss: classifyLoss({ status, body: text }),
  };
}

/** One line, to compare and to print. */
export function describeRefusal({ status, contentType, text }: Refusal): string {
  if (status < 400) return `${status}: accepted`;
  return `${status}, ${contentType}: ${JSON.stringify(text)}`;
}

/** An id in the shape of this one, which the server never gave. */
export function neverGiven(id: string): string {
  const tail = id
    .slice(-8)
    .replaceAll(/[0-9]/g, next("0123456789"))
    .replaceAll(/[a-f]/g, next("abcdef"))
    .replaceAll(/[A-Z]/g, next("ABCDEFGHIJKLMNOPQRSTUVWXYZ"));
  return id.slice(0, -8) + tail;
}

const next = (characters: string) => (found: string) =>
  characters[(characters.indexOf(found) + 1) % characters.length] ?? found;

/** The message of a JSON-RPC error, or the whole text. */
export function wordsOf(body: string): string {
  try {
    const { error } = JSON.parse(body) as { error?: unknown };
    if (typeof error === "string") return error;
    return isRecord(error) && typeof error["message"] === "string" ? error["message"] : body;
  } catch {
    return body;
  }
}
