import { isRecord, timeLimited } from "@durable-mcp/core/internal";
import type { InitializeResult } from "@durable-mcp/core";
import type { Answer, Wire } from "./wire.ts";

/** The newest revision that has sessions. */
const newestWithSessions = "2025-11-25";

/** How the probe names itself to servers. */
export const clientInfo = { name: "durable-mcp-probe", version: "1.0.0" };

/** A handshake that the probe has made. */
export interface Handshake {
  readonly answer: Answer;
  readonly result?: InitializeResult | undefined;
  /** Set if the server named a session. */
  readonly session?: ProbeSession | undefined;
}

/** A session that the probe has to end. */
export interface ProbeSession {
  readonly sessionId: string;
  readonly protocolVersion: string;
}

/** The status of a DELETE, or why there was none. */
export type Ending = number | "no answer";

/** For the last requests, when the probe may have been interrupted, in milliseconds. */
const endMs = 5_000;

export type OpenSessions = ReturnType<typeof createOpenSessions>;

/** All sessions that the probe makes. Each is ended, however the probe ends. */
export function createOpenSessions() {
  const open = new Set<ProbeSession>();
  const opening = new Set<Promise<unknown>>();
  const endings: Ending[] = [];
  const ids: string[] = [];

  const initialize = async (wire: Wire, protocolVersion: string): Promise<Handshake> => {
    const params = { protocolVersion, capabilities: {}, clientInfo };
    const answer = await wire.post({ id: "initialize", method: "initialize", params });
    const result = readResult(answer.response?.result);
    const use = { protocolVersion: result?.protocolVersion ?? protocolVersion };
    const sessionId = answer.status < 300 ? answer.headers.get("mcp-session-id") : null;
    const session = sessionId === null ? undefined : { ...use, sessionId };
    if (session !== undefined) {
      open.add(session);
      ids.push(session.sessionId);
    }
    if (result === undefined) return { answer, session };
    await wire.post({ method: "notifications/initialized" }, session ?? use);
    return { answer, result, session };
  };
  /** Ends one now. */
  const end = async (wire: Wire, session: ProbeSession): Promise<Ending> => {
    open.delete(session);
    const ending = await wire
      .delete({ ...session, timeoutMs: endMs })
      .catch(() => "no answer" as const);
    endings.push(ending);
    return ending;
  };
  return {
    /** How many there were, and how they ended. */
    endings: endings as readonly Ending[],
    ids: ids as readonly string[],
    end,
    /** Makes a handshake. Without a session in the answer there is nothing to end. */
    async open(wire: Wire, protocolVersion = newestWithSessions): Promise<Handshake> {
      // It is not interrupted: a session whose id never came could not be ended.
      const making = initialize(wire.until(never), protocolVersion);
      opening.add(making);
      return await making.finally(() => opening.delete(making));
    },
    /** Ends those that are left, also those whose handshake is still under way. */
    async endAll(wire: Wire): Promise<void> {
      const own = wire.until(never);
      await timeLimited(endMs, undefined, async () => await Promise.allSettled(opening)).catch(
        () => undefined,
      );
      await Promise.all([...open].map((session) => end(own, session)));
    },
  };
}

const never = new AbortController().signal;

function readResult(result: unknown): InitializeResult | undefined {
  if (!isRecord(result) || typeof result["protocolVersion"] !== "string") return undefined;
  const serverInfo = isRecord(result["serverInfo"]) ? result["serverInfo"] : {};
  return {
    ...result,
    protocolVersion: result["protocolVersion"],
    capabilities: isRecord(result["capabilities"]) ? result["capabilities"] : {},
    serverInfo: {
      ...serverInfo,
      name: textOf(serverInfo["name"]),
      version: textOf(serverInfo["version"]),
    },
  };
}

/** A text from outside; "" for anything else. */
export const textOf = (value: unknown) => (typeof value === "string" ? value : "");

/** Whether a session is over after such an answer to DELETE. */
export function isEnded(ending: Ending): boolean {
  return typeof ending === "number" && (ending < 300 || ending === 404 || ending === 405);
}
