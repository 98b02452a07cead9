import type { Principal } from "@durable-mcp/core";
import { waitingResult } from "@durable-mcp/core/internal";
import { pausingInput } from "../connection/input-options.ts";
import { endpointOf } from "../connection/define-connection.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import type { McpConnection } from "../connection/mcp-connection.ts";
import { authorizationSource, pendingSignIn } from "../connection/pending-sign-ins.ts";
import type { SignIn } from "../connection/sign-in.ts";
import { createStoredCalls, loadWaiting } from "../connection/stored-calls.ts";
import type { WaitingSource } from "../connection/waiting-source.ts";

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
  const createPark = (source: WaitingSource): SignIn["park"] => {
    const stored = createStoredCalls({
      ...{ source, principal, now },
      limitsOf: () => pausingInput(definition.options),
      emit: (_, event) => emit({ ...event, connection: name }),
    });
    return async (call) => {
      const { describeWaiting, waitingFailure } = await loadWaiting();
      const parked = await stored.park({ connection: name, url: new URL(url), ...call });
      if (parked === undefined) return undefined;
      const isOver = ["expired", "withdrawn", "outcome-unknown"].includes(parked.state);
      if (isOver) throw waitingFailure(parked);
      return waitingResult(describeWaiting(parked));
    };
  };
  const signIn: SignIn = {
    url,
    pending: async () =>
      await pendingSignIn(definition, { connection: name, principal, sessionId }),
    park: waiting && createPark(waiting),
  };
  return Object.assign(connection, { signIn });
}
