import type { InitializeResult, JsonRpcRequest } from "@durable-mcp/core";
import { type JsonRpcMessage, randomToken, revisionIn } from "@durable-mcp/core/internal";
import { messageAnswer, refusal } from "../base/answers.ts";
import { primingOf } from "../base/events.ts";
import { ownInitialize } from "../base/own-initialize.ts";
import type { ClientSession } from "../session/client-session.ts";
import { namesOf, type SessionAddress, type SessionNames } from "../session/session-names.ts";
import type { ClientSessions } from "../session/client-sessions.ts";
import { maxClients, writeNamedClient } from "../session/named-clients.ts";
import type { Centre } from "../session/upstreams.ts";
import { initialize, notBegun } from "./begin-session.ts";

/** Begins named sessions: the first client's `initialize` opens the server's session, in the words of the definition. */
export function createNamedBeginning(centre: Centre, sessions: ClientSessions) {
  const turns = new Map<string, Promise<unknown>>();

  const begin = async (message: JsonRpcRequest, names: SessionNames, id: string) => {
    const { protocolVersion: asked, clientInfo: info } = message.params ?? {};
    const version = typeof asked === "string" ? asked : "";
    const priming = primingOf(version, info as Record<string, unknown>);
    if (sessions.countNamed(names) >= maxClients)
      return refusal(429, `This name has ${maxClients} clients. End some, or take another name.`);
    const session = await sessions.begin(names, { told: undefined, priming });
    let isBegun = false;
    try {
      const handshake = await session.use(() => handshakeOf(centre, session));
      if (handshake instanceof Response) return handshake;
      if (version < handshake.protocolVersion) return otherRevision(message, handshake);
      session.tellNothing();
      await writeNamedClient(centre, names, { told: session.era, priming }, true);
      isBegun = true;
      const result = handshake as unknown as Record<string, unknown>;
      const answer = messageAnswer({ jsonrpc: "2.0", id: message.id, result });
      answer.headers.set("mcp-session-id", id);
      return answer;
    } catch (error) {
      return notBegun(message, error);
    } finally {
      if (!isBegun) await sessions.close(session);
    }
  };
  /** Of those that come at once, one opens the session of the server. */
  return async (message: JsonRpcRequest, address: SessionAddress): Promise<Response> => {
    const id = randomToken() + randomToken();
    const names = await namesOf(id, address);
    const { whole: key } = names;
    const before = turns.get(key) ?? Promise.resolve();
    const own = before.catch(() => undefined).then(() => begin(message, names, id));
    turns.set(key, own);
    return await own.finally(() => {
      if (turns.get(key) === own) turns.delete(key);
    });
  };
}

/** The result of the `initialize` with which the server's session began or begins, or the server's refusal. */
async function handshakeOf(
  { connections }: Centre,
  { of, upstream }: ClientSession,
): Promise<InitializeResult | Response> {
  const made = () => {
    const { snapshot } = upstream.slot;
    return snapshot?.kind === "session" ? snapshot.initializeResult : undefined;
  };
  const known = made();
  if (known) return known;
  const answer = await initialize(upstream, ownInitialize(0, connections[of.connection]!));
  const nameless = "The server has no sessions, so none has a name. Use the address without @.";
  return answer.ok ? (made() ?? refusal(502, nameless)) : answer;
}

const otherRevision = ({ id }: JsonRpcRequest, handshake: InitializeResult) =>
  refusal(400, `Unsupported protocol version: the session has ${handshake.protocolVersion}.`, {
    ...{ code: -32_602, id },
  });

/** The answer to what comes under a name without a session: a client that speaks both eras goes on with `initialize`. */
export function needsSession(message: JsonRpcMessage | undefined): Response {
  const { id = null } = (message ?? {}) as Partial<JsonRpcRequest>;
  const isProbe = message && "method" in message && message.method === "server/discover";
  if (isProbe) return refusal(400, "Method not found", { code: -32_601, id });
  const code = message && revisionIn(message) ? -32_022 : -32_600;
  return refusal(400, "A named session begins with initialize.", { code, id });
}
