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

/** All sessions that the probe makes. Each is ended, however the probe ends. */
export interface OpenSessions {
  /** Makes a handshake. Without a session in the answer there is nothing to end. */
  readonly open: (wire: Wire, protocolVersion?: string) => Promise<Handshake>;
  /** Ends one now. */
  readonly end: (wire: Wire, session: ProbeSession) => Promise<Ending>;
  /** Ends those that are left, also those whose handshake is still under way. */
  readonly endAll: (wire: Wire) => Promise<void>;
  /** How many there were, and what became of them. */
  readonly endings: () => readonly Ending[];
  readonly ids: () => readonly string[];
}

/** For the last requests, when the probe may have been interrupted, in milliseconds. */
const endMs = 5_000;

export function createOpenSessions(): OpenSessions {
  const open = new Set<ProbeSession>();
  const opening = new Set<Promise<unknown>>();
  const endings: Ending[] = [];
  const ids: string[] = [];

  const initialize = async (wire: Wire, protocolVersion: string): Promise<Handshake> => {
    const params = { protocolVersion, capabilities: {}, clientInfo };
    const answer = await wire.post({ id: "initialize", method: "initialize", params });
    const result = readResult(answer.response?.result);
    const sessionId = answer.status < 300 ? answer.headers.get("mcp-session-id") : null;
    const session = sessionId === null ? undefined : remember(sessionId, result, protocolVersion);
    if (result === undefined) return { answer, session };
    const use = session ?? { protocolVersion: result.protocolVersion };
    await wire.post({ method: "notifications/initialized" }, use);
    return { answer, result, session };
  };
  const remember = (sessionId: string, result: InitializeResult | undefined, asked: string) => {
    const session = { sessionId, protocolVersion: result?.protocolVersion ?? asked };
    open.add(session);
    ids.push(sessionId);
    return session;
  };
  const end: OpenSessions["end"] = async (wire, session) => {
    open.delete(session);
    const ending = await wire
      .delete({ ...session, timeoutMs: endMs })
      .catch(() => "no answer" as const);
    endings.push(ending);
    return ending;
  };
  return {
    end,
    async open(wire, protocolVersion = newestWithSessions) {
      // It is not interrupted: a session whose id never came could not be ended.
      const making = initialize(wire.until(never), protocolVersion);
      opening.add(making);
      return await making.finally(() => opening.delete(making));
    },
    async endAll(wire) {
      const own = wire.until(never);
      await timeLimited(endMs, undefined, async () => await Promise.allSettled(opening)).catch(
        () => undefined,
      );
      await Promise.all([...open].map((session) => end(own, session)));
    },
    endings: () => endings,
    ids: () => ids,
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
