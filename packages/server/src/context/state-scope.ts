import { McpSessionError, type Principal } from "@durable-mcp/core";
import { isRecord } from "@durable-mcp/core/internal";
import type { Answer, JSONRPCRequest } from "../base/mcp-types.ts";
import { isStored, type OwnRow } from "../records/stored-states.ts";
import type { StateChange } from "../state/stored-state.ts";
import { stateInvalid } from "../state/state-errors.ts";
import type { HandlerContext } from "./handler-context.ts";
import type { RequestHandle, RequestState, StatePlace } from "./request-state.ts";
import type { StateScope } from "../author/session-handler-options.ts";
import { handleOfSession, hashHandle, hashOwner, mintHandle } from "./state-handle.ts";

/** On whose behalf a request is sent. */
interface Sender {
  readonly principal: Principal;
  /** The structural key of the principal. */
  readonly owner: string;
}

/** The state of requests that name none. */
export interface OwnState extends Pick<StatePlace, "missing"> {
  readonly row?: OwnRow | undefined;
  readonly handle?: string | undefined;
  /** Its client does not know the handle yet. */
  readonly isMinted?: boolean;
}

/** Finds the states of requests that are not in a session's record. */
export interface StateFinder {
  /** Of a session: it has one state for all of its requests. */
  ofSession(sessionId: string, sender: Sender): Promise<OwnState>;
  /** Of a request without a session. */
  ofRequest(request: JSONRPCRequest, sender: Sender): Promise<OwnState>;
  /** The state of a request, read from the store. */
  find(request: JSONRPCRequest, owner: string, own: OwnState): Promise<RequestState>;
}

export function createStateFinder(context: HandlerContext, scope: StateScope): StateFinder {
  const { states } = context;
  const argument = typeof scope === "object" ? scope.handle : undefined;

  async function ofHandle(handle: string, owner: string): Promise<OwnState> {
    return { row: states.rowOf((await hashHandle(handle))!, owner), handle };
  }

  async function ofPrincipal({ principal, owner }: Sender): Promise<OwnState> {
    if (principal.type === "anonymous") return { missing: principalRequired };
    return { row: states.rowOf(await hashOwner(owner), owner) };
  }

  return {
    ofSession: async (sessionId, sender) =>
      argument === undefined
        ? await ofPrincipal(sender)
        : await ofHandle(await handleOfSession(sessionId), sender.owner),
    ofRequest: async (request, sender) => {
      if (scope === "session") return { missing: sessionRequired };
      if (argument === undefined) return await ofPrincipal(sender);
      if (!hasArguments(request)) return { missing: () => handleRequired(request, argument) };
      return { ...(await ofHandle(mintHandle(), sender.owner)), isMinted: true };
    },
    find: async (request, owner, own) => {
      const given = argument === undefined ? undefined : argumentOf(request, argument);
      if (given === undefined || given === own.handle) {
        // Nothing is stored under a handle that was minted just now.
        if (!own.isMinted) await refresh(own.row);
        return toRequestState(context, own);
      }
      const hash = await hashHandle(given);
      const row = hash === undefined ? undefined : await states.find(hash, owner);
      if (!row) return { refusal: handleUnknown(request, argument!) };
      await row.renew();
      return toRequestState(context, { row, handle: given as string });
    },
  };
}

/** Reads a row, and notes the use. */
async function refresh(row: OwnRow | undefined): Promise<void> {
  await row?.load();
  await row?.renew();
}

function toRequestState({ emit }: HandlerContext, own: OwnState): RequestState {
  const { row, missing, handle: text, isMinted } = own;
  if (!row || text === undefined) return { row, missing };
  const handle: RequestHandle = {
    text,
    isRead: false,
    changeOf: (change) => {
      if (handle.isRead) return change ?? (isStored(row) ? undefined : storeAsItIs);
      if (!isMinted || (!change && !isStored(row))) return change;
      const error = handleUnread();
      emit({ type: "state-invalid", session: undefined, error });
      throw error;
    },
  };
  return { row, handle };
}

/** A copy, because the same object is not stored. */
const storeAsItIs: StateChange = (stored) => ({ ...stored });

/** The requests in which a client can name a state. */
function hasArguments({ method }: JSONRPCRequest): boolean {
  return method === "tools/call" || method === "prompts/get";
}

function argumentOf(request: JSONRPCRequest, name: string): unknown {
  const values = hasArguments(request) ? request.params?.["arguments"] : undefined;
  return isRecord(values) && Object.hasOwn(values, name) ? values[name] : undefined;
}

/** The same words for every handle that is of no use, whatever the reason. */
function handleUnknown({ id, method }: JSONRPCRequest, argument: string): Answer {
  const text = `The argument "${argument}" names no state that you can use: it is unknown, has expired or belongs to somebody else. Take it from an earlier result as it is, or leave it out to begin anew.`;
  // A model reads the results of tools.
  if (method === "tools/call") {
    const content = [{ type: "text", text }];
    return { jsonrpc: "2.0", id, result: { content, isError: true, resultType: "complete" } };
  }
  return { jsonrpc: "2.0", id, error: { code: -32602, message: text } };
}

function handleUnread(): McpSessionError {
  return stateInvalid(
    "the request came without a handle, and session.handle was not read, so that nobody could find the state again. Return session.handle in the result",
  );
}

function handleRequired({ method }: JSONRPCRequest, argument: string): McpSessionError {
  const message = `${method} has no arguments, so a client without a session cannot name its state there (stateScope: { handle: ${JSON.stringify(argument)} }). Use the state in tools and prompts.`;
  return new McpSessionError("STATE_INVALID", message, { data: { field: "state" } });
}

function principalRequired(): McpSessionError {
  return new McpSessionError(
    "PRINCIPAL_REQUIRED",
    'The state belongs to a principal (stateScope: "principal"), and this request is anonymous. Sign in first.',
    { data: { field: "principal" } },
  );
}

function sessionRequired(): McpSessionError {
  return new McpSessionError(
    "STATE_INVALID",
    'This client has no session (revision 2026-07-28), and the state belongs to sessions. Set stateScope to "principal", or to { handle: "…" }, to give it one.',
    { data: { field: "stateScope" } },
  );
}
