import { isRecord, nearestName } from "@durable-mcp/core/internal";
import { wantsAuthorization } from "./authorization.ts";
import {
  type CallToMake,
  type CheckResult,
  type Facts,
  failed,
  ok,
  type ProbeContext,
  warning,
} from "./checks.ts";
import { modernRequest } from "./era-checks.ts";
import type { ProbeSession } from "./open-sessions.ts";
import type { Answer, OwnMessage, RequestUse } from "./wire.ts";

/** Where requests of tools go: the newest revision that has a handshake, else the one without. */
function requestOf(
  method: string,
  params: Readonly<Record<string, unknown>>,
  { handshake }: Facts,
  session: ProbeSession | undefined,
): { readonly message: OwnMessage; readonly use: RequestUse } {
  if (handshake === undefined) return modernRequest(method, params);
  const use = session ?? { protocolVersion: handshake.version };
  return { message: { id: `${method}-1`, method, params }, use };
}

const maxPages = 50;

/** All tools, and how long the list may be kept. */
export async function checkTools(
  { wire }: ProbeContext,
  facts: Facts,
  session: ProbeSession | undefined,
): Promise<CheckResult> {
  const names: string[] = [];
  let ttlMs: number | undefined;
  let cursor: string | undefined;
  let pages = 0;
  do {
    const params = cursor === undefined ? {} : { cursor };
    const { message, use } = requestOf("tools/list", params, facts, session);
    const answer = await wire.post(message, use);
    const { tools, nextCursor, ttlMs: itsTtl } = answer.response?.result ?? {};
    if (!Array.isArray(tools)) {
      const { status, contentType } = answer;
      return withoutResult(answer, `tools/list was answered with ${status}, ${contentType}: `);
    }
    names.push(...tools.flatMap((tool: unknown) => (isRecord(tool) ? [String(tool["name"])] : [])));
    if (typeof itsTtl === "number") ttlMs = itsTtl;
    cursor = typeof nextCursor === "string" ? nextCursor : undefined;
    pages += 1;
  } while (cursor !== undefined && pages < maxPages);
  if (facts.modern !== undefined && facts.handshake !== undefined) {
    const { message, use } = modernRequest("tools/list");
    const { response } = await wire.post(message, use);
    if (typeof response?.result?.["ttlMs"] === "number") ttlMs = response.result["ttlMs"];
  }
  const offered = facts.capabilities?.["tools"];
  const listChanged = isRecord(offered) && offered["listChanged"] === true;
  const tools = { names, listChanged, ...(ttlMs !== undefined && { ttlMs }) };
  const says = `${countOf(names)}${pages > 1 ? ` on ${pages} pages` : ""}. ${lifetime(facts, tools)}`;
  return ok(says, { tools });
}

/** Names are many; the first ones tell what kind of server this is. */
const shownNames = 6;

function countOf(names: readonly string[]): string {
  if (names.length === 0) return "None";
  const shown = names.slice(0, shownNames).join(", ");
  return `${names.length}: ${shown}${names.length > shownNames ? ", …" : ""}`;
}

function lifetime(facts: Facts, { listChanged, ttlMs }: NonNullable<Facts["tools"]>): string {
  const changes = listChanged ? "It announces changes of the list." : "It announces no changes.";
  if (facts.modern === undefined) return `The list has no lifetime in these revisions. ${changes}`;
  const may =
    (ttlMs ?? 0) > 0 ? `may be kept for ${(ttlMs ?? 0) / 1_000} s` : "may not be kept (ttlMs: 0)";
  return `The list ${may}. ${changes}`;
}

/** An answer without a result. */
function withoutResult(answer: Answer, start: string): CheckResult {
  const words = answer.response?.error?.message ?? answer.words.slice(0, 120);
  const refused = wantsAuthorization(answer) ? answer : undefined;
  return { ...failed(`${start}${JSON.stringify(words)}.`), refused };
}

/** Makes the call, once. */
export async function checkCall(
  { wire }: ProbeContext,
  facts: Facts,
  session: ProbeSession | undefined,
  { name, args, timeoutMs }: CallToMake,
): Promise<CheckResult> {
  const names = facts.tools?.names;
  if (names !== undefined && !names.includes(name)) {
    const near = nearestName(name, names);
    const has = `It has ${names.slice(0, shownNames).join(", ")}.`;
    const hint = near === undefined ? has : `Did you mean ${near}?`;
    return failed(`It has no such tool, so nothing was called. ${hint}`);
  }
  const { message, use } = requestOf("tools/call", { name, arguments: args }, facts, session);
  const from = Date.now();
  const answer = await wire.post(message, { ...use, timeoutMs });
  const ms = Date.now() - from;
  const { result } = answer.response ?? {};
  if (result === undefined) return withoutResult(answer, `${answer.status}: `);
  const isError = result["isError"] === true;
  const text = contentText(result["content"]);
  const start = isError ? "It says that it failed," : "Answered";
  const says = `${start} in ${ms} ms${text === "" ? "." : `: ${text}`}`;
  return (isError ? warning : ok)(says, { call: { name, isError, ms } });
}

const shownText = 160;

function contentText(content: unknown): string {
  if (!Array.isArray(content)) return "";
  const texts = content.flatMap((part: unknown) =>
    isRecord(part) && typeof part["text"] === "string" ? [part["text"]] : [],
  );
  const text = texts.join(" ").replaceAll(/\s+/g, " ").trim();
  return text.length > shownText ? `${text.slice(0, shownText)}…` : text;
}
