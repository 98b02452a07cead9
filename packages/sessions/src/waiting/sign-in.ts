/** The calls that wait for a sign-in: where it is asked for, and how a call is kept. */

import { McpSessionError, type Principal } from "@durable-mcp/core";
import { waitingResult } from "@durable-mcp/core/internal";
import type { WaitingAuthorization } from "@durable-mcp/core/waiting";
import type { AuthorizationUse, GetToken } from "../declare/credential-options.ts";
import {
  endpointOf,
  type McpClientConnection,
  waitingLimits,
} from "../declare/define-connection.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import {
  clientConnections,
  type Connections,
  type McpConnection,
} from "../declare/mcp-connection.ts";
import type { SignIn } from "../connection/waiting-parts.ts";
import { isStoreFailure } from "../base/store-failure.ts";
import { createStoredCalls, loadWaiting } from "./stored-calls.ts";
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
  const { name, emit, sessionId, keptAs } = connection;
  const url = endpointOf(definition);
  const keeping = (source: WaitingSource): Pick<SignIn, "callsOf" | "park" | "resume"> => {
    const { callsOf } = createStoredCalls({
      ...{ source, principal, now },
      limitsOf: () => waitingLimits(definition.options),
      emit: (_, event) => emit({ ...event, connection: name }),
    });
    const park: SignIn["park"] = async ({ onCall, ...call }) => {
      const { describeWaiting, waitingFailure } = await loadWaiting();
      const own = { connection: name, url: new URL(url), session: keptAs, ...call };
      // An event has told of a store that fails. The model reads that the user has to sign in.
      const calls = await callsOf(own);
      const parked = await calls.park(own).catch((error: unknown) => {
        if (!isStoreFailure(error)) throw error;
      });
      if (parked === undefined) return undefined;
      onCall?.(parked);
      const isOver = ["expired", "withdrawn", "outcome-unknown"].includes(parked.state);
      if (isOver) throw waitingFailure(parked);
      return waitingResult(describeWaiting(parked));
    };
    const resume: SignIn["resume"] = async (parked, tool) => {
      const { resumeParked } = await import("./resume-parked.ts");
      return await resumeParked({ callsOf }, connection, parked, tool);
    };
    return { callsOf, park, resume };
  };
  const signIn: SignIn = {
    url,
    pending: async () =>
      await pendingSignIn(definition, { connection: name, principal, sessionId }),
    ...(waiting && keeping(waiting)),
  };
  return Object.assign(connection, { signIn });
}
