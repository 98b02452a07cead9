import { pathHint } from "@durable-mcp/sessions/internal";
import { isRecord, startLimit } from "@durable-mcp/core/internal";
import { type CheckResult, type Facts, failed, ok, type ProbeContext, warning } from "./checks.ts";
import { clientInfo, type Handshake, textOf } from "./open-sessions.ts";
import type { Answer, OwnMessage, RequestUse, Wire } from "./wire.ts";

/** The first revision without sessions. */
export const modernVersion = "2026-07-28";
const unsupportedVersion = -32022;

const metaPrefix = "io.modelcontextprotocol/";

/** A request of revision 2026-07-28. */
export function modernRequest(
  method: string,
  params: Readonly<Record<string, unknown>> = {},
): { readonly message: OwnMessage; readonly use: RequestUse } {
  const envelope = {
    [`${metaPrefix}protocolVersion`]: modernVersion,
    [`${metaPrefix}clientCapabilities`]: {},
    [`${metaPrefix}clientInfo`]: clientInfo,
  };
  const name = typeof params["name"] === "string" ? { "mcp-name": params["name"] } : {};
  return {
    message: { id: method, method, params: { ...params, _meta: envelope } },
    use: { protocolVersion: modernVersion, headers: { "mcp-method": method, ...name } },
  };
}

/** Asks as a client of 2026-07-28 does. */
export async function askModern(wire: Wire): Promise<Answer> {
  const { message, use } = modernRequest("server/discover");
  return await wire.post(message, use);
}

/** The versions without sessions that a server speaks, of its answer to `server/discover`. */
export function modernVersionsIn({ response }: Pick<Answer, "response">): string[] {
  const { supportedVersions } = response?.result ?? {};
  const { supported } = isRecord(response?.error?.data) ? response.error.data : {};
  const isRefusal = response?.error?.code === unsupportedVersion;
  const versions = isRefusal ? supported : supportedVersions;
  return Array.isArray(versions)
    ? versions.filter((version) => typeof version === "string" && version >= modernVersion)
    : [];
}

/** What the first requests of both eras show. */
export function describeServer(
  discovered: Pick<Answer, "response"> | undefined,
  first: Pick<Handshake, "result" | "session"> | undefined,
): CheckResult {
  const modern = discovered === undefined ? [] : modernVersionsIn(discovered);
  const { result } = first ?? {};
  const found = discovered?.response?.result;
  const meta = isRecord(found?.["_meta"]) ? found["_meta"] : {};
  const info: unknown = result?.serverInfo ?? meta[`${metaPrefix}serverInfo`];
  const { name, version, title } = isRecord(info) ? info : {};
  const capabilities = result?.capabilities ?? found?.["capabilities"];
  const server = {
    name: textOf(name),
    version: textOf(version),
    ...(textOf(title) !== "" && { title: textOf(title) }),
  };
  const facts: Facts = {
    server,
    ...(isRecord(capabilities) && { capabilities }),
    ...(modern.length > 0 && { modern: { versions: modern } }),
    ...(result !== undefined && {
      handshake: {
        version: result.protocolVersion,
        hasSession: first?.session !== undefined,
      },
    }),
  };
  const eras = [
    ...(result === undefined ? [] : [`the session era (${result.protocolVersion})`]),
    ...(modern.length === 0 ? [] : [`revisions without sessions (${modern.join(", ")})`]),
  ];
  const who = `${server.name || "A server without a name"}${server.version && ` ${server.version}`}`;
  return ok(`${who}. Speaks ${eras.join(" and ")}.`, facts);
}

/** Why neither era could be spoken, by the last answer. */
export async function whyNoHandshake({ wire }: ProbeContext, last: Answer): Promise<CheckResult> {
  const { status, contentType, response } = last;
  if ([400, 404, 405].includes(status) && (await isOldTransport(wire))) {
    const says = "HTTP+SSE, the transport of 2024-11-05. There is nothing to resume in it.";
    return warning(says, { oldTransport: true });
  }
  const words = last.words.replaceAll(/\s+/g, " ").trim().slice(0, 120);
  const said = /html/.test(contentType) || words === "" ? "" : `: ${JSON.stringify(words)}`;
  const start = `initialize was answered with ${status}, ${contentType}${said}.`;
  if (response?.error !== undefined) {
    return failed(`${start} It refuses each revision that the probe knows.`);
  }
  const hint = pathHint(status, new URL(wire.url).pathname) ?? "";
  const says = `${start} That is no answer of an MCP server. ${hint}`.trimEnd();
  return failed(says, { notMcp: true });
}

/** Whether GET gives a stream that begins with the event `endpoint`. */
async function isOldTransport(wire: Wire): Promise<boolean> {
  const over = new AbortController();
  const stop = startLimit(2_000, () => over.abort());
  try {
    const answer = await wire.get({}, over.signal);
    if (!answer.ok || !answer.headers.get("content-type")?.startsWith("text/event-stream")) {
      return false;
    }
    const { value } = (await answer.body?.getReader().read()) ?? {};
    return /^event: ?endpoint$/m.test(new TextDecoder().decode(value));
  } catch {
    return false;
  } finally {
    stop();
    over.abort();
  }
}
