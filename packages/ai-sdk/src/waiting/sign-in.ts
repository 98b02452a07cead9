/** The calls that wait for a sign-in: where it is asked for, how a call is kept, and how it goes on. */

import { McpSessionError, type Principal } from "@durable-mcp/core";
import { refusesUnprocessed, waitingCallOf, waitingResult } from "@durable-mcp/core/internal";
import type { WaitingAuthorization } from "@durable-mcp/core/waiting";
import type { ClaimedOutcome, StoredCall, WaitingRecord } from "@durable-mcp/core/waiting/internal";
import type { CallEnvelope, JudgedTool } from "../connection/call-envelope.ts";
import type { AuthorizationUse, GetToken } from "../connection/credential-options.ts";
import {
  endpointOf,
  type McpClientConnection,
  waitingLimits,
} from "../connection/define-connection.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import {
  clientConnections,
  type Connections,
  type McpConnection,
} from "../connection/mcp-connection.ts";
import type { SignIn } from "../connection/waiting-parts.ts";
import { isOwnAnswer, requestFailure } from "../events/request-failure.ts";
import { callTool } from "../tools/call-tool.ts";
import { signedInResult } from "../tools/stand-in-tool.ts";
import { refuseChanged, whileAllowed } from "../tools/tool-approval.ts";
import { createStoredCalls, loadWaiting, type StoredCalls, unlessOver } from "./stored-calls.ts";
import { isPausing, type WaitingSource } from "./waiting-source.ts";

type AuthorizationSource = GetToken & Required<Pick<GetToken, "authorizationFor">>;

/** Where a connection's sign-ins can be asked for; `undefined` for tokens that come in another way. */
function authorizationSource({
  options: { auth },
}: Pick<McpClientConnection, "options">): AuthorizationSource | undefined {
  const isSource = typeof auth === "object" && typeof auth.authorizationFor === "function";
  return isSource ? (auth as AuthorizationSource) : undefined;
}

/** Whether calls of a connection may wait: for what `waiting` says, or for the user's sign-in. */
export function mayWait(definition: McpClientConnection): boolean {
  return isPausing(definition) || authorizationSource(definition) !== undefined;
}

/**
 * The sign-in that a connection waits for, if there is one.
 *
 * @throws {McpSessionError} the error of `auth.authorizationFor`, such as that of its store; for other errors
 *   `CONNECTION_UNAVAILABLE`
 */
export async function pendingSignIn(
  definition: McpClientConnection,
  { connection, principal, sessionId }: Omit<AuthorizationUse, "url">,
): Promise<WaitingAuthorization | undefined> {
  const source = authorizationSource(definition);
  if (source === undefined) return undefined;
  const url = endpointOf(definition);
  try {
    const required = await source.authorizationFor({ principal, connection, url, sessionId });
    if (required === undefined) return undefined;
    const { scopes, startUrl, askedAt } = required;
    const server = new URL(url).origin;
    return { type: "sign-in", connection, server, scopes, startUrl, askedAt };
  } catch (cause) {
    if (McpSessionError.isInstance(cause)) throw cause;
    const field = "auth.authorizationFor";
    throw new McpSessionError(
      "CONNECTION_UNAVAILABLE",
      `Connection ${connection}: ${field} failed; see the cause. Whether the user has to sign in is unknown. Nothing was sent.`,
      { data: { field, connection }, cause },
    );
  }
}

/** The sign-ins that the declared connections wait for. @throws as `pendingSignIn` */
export async function pendingSignIns(
  declared: Readonly<Connections>,
  principal: Principal | undefined,
  sessionId: string | undefined,
): Promise<WaitingAuthorization[]> {
  // Nobody signs in for an unknown user.
  if (principal === undefined) return [];
  const entries = Object.entries(clientConnections(declared));
  const pending = await Promise.all(
    entries.map(([connection, definition]) =>
      pendingSignIn(definition, { connection, principal, sessionId }),
    ),
  );
  return pending.filter((entry) => entry !== undefined);
}

interface SignInParts {
  readonly definition: McpConnection;
  readonly principal: Principal | undefined;
  /** Where calls wait; `undefined` if none can. */
  readonly waiting: WaitingSource | undefined;
  readonly now: () => number;
}

/** The connection with its user's sign-in, if tokens come from there. Loads and reads nothing yet. */
export function withSignIn(
  connection: LiveConnection,
  { definition, principal, waiting, now }: SignInParts,
): LiveConnection {
  const isAsked = definition.type === "mcp-client" && authorizationSource(definition);
  // Nobody signs in for an unknown user.
  if (!isAsked || principal === undefined) return connection;
  const { name, emit, sessionId } = connection;
  const url = endpointOf(definition);
  const keeping = (source: WaitingSource): Pick<SignIn, "contextOf" | "park"> => {
    const { contextOf } = createStoredCalls({
      ...{ source, principal, now },
      limitsOf: () => waitingLimits(definition.options),
      emit: (_, event) => emit({ ...event, connection: name }),
    });
    const park: SignIn["park"] = async ({ onCall, ...call }) => {
      const { describeWaiting, parkCall, waitingFailure } = await loadWaiting();
      const own = { connection: name, url: new URL(url), ...call };
      const parked = await parkCall(await contextOf(own), own);
      if (parked === undefined) return undefined;
      onCall?.(parked);
      const isOver = ["expired", "withdrawn", "outcome-unknown"].includes(parked.state);
      if (isOver) throw waitingFailure(parked);
      return waitingResult(describeWaiting(parked));
    };
    return { contextOf, park };
  };
  const signIn: SignIn = {
    url,
    pending: async () =>
      await pendingSignIn(definition, { connection: name, principal, sessionId }),
    ...(waiting && keeping(waiting)),
  };
  return Object.assign(connection, { signIn });
}

interface ResumeParts extends Pick<StoredCalls, "contextOf"> {
  /** Finds a connection for a use; `undefined` if it is not declared any more. */
  readonly find: (name: string) => LiveConnection | undefined;
}

/** Whether a call waits for a sign-in. */
export function isParked({ kind, state }: Pick<WaitingRecord, "kind" | "state">): boolean {
  return kind === "authorization" && state === "waiting";
}

/**
 * Carries out a call that has waited for a sign-in, at most once. It waits on while the user has not signed in, where
 * its connection cannot be used, and if the server refuses it again.
 *
 * @param tool the call's tool as it is listed now
 * @returns the call as it is then
 * @throws {McpSessionError} `STORE_FAILED`, or the error of `auth.authorizationFor` or `approval`
 */
export async function resumeParked(
  { contextOf, find }: ResumeParts,
  parked: StoredCall,
  tool: JudgedTool | undefined,
): Promise<StoredCall> {
  const { id, connection: name, url, isStandIn } = parked.call;
  const connection = find(name);
  // The call is for the server that it was made for.
  if (!isParked(parked.call) || connection?.signIn?.url !== url) return parked;
  if ((await connection.signIn.pending()) !== undefined) return parked;
  connection.abortSignal.throwIfAborted();
  const { sendClaimed, settleCall, upToDate } = await loadWaiting();
  const context = await contextOf(parked.call);
  if (isStandIn) await settleCall(context, parked, { result: signedInResult(name) });
  else {
    // What fails now is no outcome of the call.
    if (!(await isConnected(connection))) return parked;
    const { annotations, toolCallId, request } = parked.call;
    const { name: called, arguments: input } = request.params;
    const before = { name: String(called), annotations };
    const call = { input, use: { toolCallId } };
    const refused = await refuseChanged(connection, [before, tool ?? { name: before.name }], call);
    if (refused !== undefined) await settleCall(context, parked, { result: refused });
    else {
      const allowed = whileAllowed(connection, before, call);
      const send = async (claimed: StoredCall) => await carryOutCall(connection, claimed, allowed);
      // Nothing is sent if another process was first.
      await sendClaimed(context, parked, send).catch(unlessOver);
    }
  }
  const current = await context.calls.read(id);
  return current ? await upToDate(context, current) : parked;
}

async function isConnected(connection: LiveConnection): Promise<boolean> {
  try {
    await connection.client();
    return true;
  } catch (error) {
    connection.abortSignal.throwIfAborted();
    connection.tell(error);
    return false;
  }
}

/** Makes a call that has waited for a sign-in, once, and tells its outcome. Never rejects. */
async function carryOutCall(
  connection: LiveConnection,
  claimed: StoredCall,
  allowed: CallEnvelope["allowed"],
): Promise<ClaimedOutcome> {
  const { request, toolCallId } = claimed.call;
  const { name, arguments: input } = request.params;
  try {
    const args = input as Record<string, unknown>;
    const waited = { toolCallId, claimed, allowed };
    const result = await callTool(connection, String(name), args, {}, waited);
    // The connection's fetch has kept the server's questions.
    if (waitingCallOf(result)) return { type: "kept" };
    return { type: "settles", answer: { result } };
  } catch (error) {
    return failedCall(error);
  }
}

/** Codes that say that the server has not carried a call out. */
const notCarriedOut: ReadonlySet<string> = new Set([
  "AUTHORIZATION_REQUIRED",
  "CONNECTION_INVALID",
  "PRINCIPAL_REQUIRED",
  "SESSION_LOST",
]);

function failedCall(error: unknown): ClaimedOutcome {
  if (isOwnAnswer(error)) {
    const { code, message, data } = error;
    const body = JSON.stringify({ jsonrpc: "2.0", error: { code, message } });
    // Clients forget the status.
    if (refusesUnprocessed({ status: 400, body })) return { type: "not-sent", error };
    return {
      type: "settles",
      answer: { error: { code, message, ...(data !== undefined && { data }) } },
    };
  }
  if (!McpSessionError.isInstance(error)) return { type: "unknown", error };
  const { code, cause, data } = error;
  // A server may answer a call that it has carried out with a redirect.
  const isRefused =
    code === "CONNECTION_UNAVAILABLE" &&
    data.reason !== "redirect" &&
    !requestFailure(cause)?.mayHaveRun;
  const isCertain = isRefused || notCarriedOut.has(code);
  return { type: isCertain ? "not-sent" : "unknown", error };
}
