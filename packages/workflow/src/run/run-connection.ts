import { McpSessionError, type Principal } from "@durable-mcp/core";
import type { KeptSlot } from "./run-state.ts";
import { waitForPerson } from "./wait-for-person.ts";
import type {
  CallRequest,
  CallResult,
  ConnectionStepFunctions,
  OfferedTool,
  OpenedConnection,
  SessionsRequest,
  SessionsResult,
  ToolResult,
  WaitingRequest,
  WaitingStep,
} from "../step-protocol.ts";

/** One connection in one run. */
export interface RunConnection {
  /** The slot for the next run; `undefined` if a store has it. */
  readonly kept: KeptSlot | undefined;
  /** @throws {McpSessionError} */
  call(tool: OfferedTool, input: unknown, toolCallId: string | undefined): Promise<ToolResult>;
  /** Notes that the session was ended. */
  forget(): void;
}

/** How often a step is tried that may be repeated, if each is interrupted. */
const maxAttempts = 4;

interface RunConnectionOptions {
  connection: string;
  principal: Principal;
  sessionId: string | undefined;
  steps: ConnectionStepFunctions;
  opened: OpenedConnection;
  /** Called when the user has signed in, with the tools in the place of their stand-in. */
  onSignedIn: (opened: OpenedConnection) => void;
}

/**
 * Keeps a connection's slot and makes calls on it. All calls of a turn share one session. If it is
 * lost, the first call to return opens another session, and the other calls wait for it.
 */
export function createRunConnection(options: RunConnectionOptions): RunConnection {
  const { connection, principal, sessionId } = options;
  const session = createRunSession(options);
  const callStep = createCallStep(options);
  return {
    get kept() {
      return session.kept;
    },
    forget: () => session.forget(),
    async call({ tool, mayRunTwice, isStandIn = false }, input, toolCallId) {
      const call = {
        ...{ connection, tool, input, principal, sessionId, mayRunTwice },
        ...(isStandIn && { isStandIn }),
        ...(toolCallId !== undefined && { toolCallId }),
      };
      /** Makes the call in a step, on the session of now, or goes on with it. */
      const send = async (waiting?: WaitingRequest, asked?: WaitingStep): Promise<CallResult> => {
        const { slot, tellLoss, hasSession, ...use } = session.use();
        let isTold = false;
        try {
          const result = await callStep({
            ...{ ...call, slot, tellLoss },
            ...(hasSession === true && { hasSession }),
            ...(asked !== undefined && { toolCallId: asked.toolCallId, waiting }),
          });
          isTold = result.ok && result.waiting === undefined;
          if (result.ok || !result.isLost) return result;
          use.lose(result.slot);
          return asked === undefined ? result : { waiting: asked, ...result };
        } finally {
          if (!isTold) use.takeBackNotice();
        }
      };
      const goOn = async (waiting: WaitingRequest, asked: WaitingStep): Promise<CallResult> => {
        // Without a session nothing is sent, and the call waits on.
        await session.ensureOpen().catch(() => undefined);
        return await send(waiting, asked);
      };
      for (let hasMetLoss = false; ; hasMetLoss = true) {
        await session.ensureOpen();
        const result = await waitForPerson(await send(), { principal, sessionId }, goOn);
        if (result.ok) {
          if (isStandIn) await session.openSignedIn();
          return result.output;
        }
        const { code, message, isLost, maySendAgain } = result;
        if (!isLost || !maySendAgain || hasMetLoss) throw failure(code, message, connection);
      }
    },
  };
}

/**
 * The step of one connection's calls. An interrupted step is repeated if the tool may run twice. If a store keeps calls,
 * the next step finds the call of the first, and a step that goes on is repeated, because the store claims each leg.
 *
 * @throws {McpSessionError} `OUTCOME_UNKNOWN`
 */
function createCallStep({ connection, steps, opened }: RunConnectionOptions) {
  return async (request: CallRequest): Promise<CallResult> => {
    const { mayRunTwice, tool, toolCallId } = request;
    const mayRepeat = mayRunTwice || (opened.keepsCalls === true && toolCallId !== undefined);
    let { waiting } = request;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await steps.call({ ...request, ...(waiting !== undefined && { waiting }) });
      } catch (cause) {
        if (!mayRepeat || attempt === maxAttempts)
          throw failure("OUTCOME_UNKNOWN", interrupted(connection, tool), connection, cause);
        if (!mayRunTwice) waiting ??= { kind: "find" };
      }
    }
  };
}

/** The session of a connection in a run, and the sessions that take its place. */
function createRunSession(options: RunConnectionOptions) {
  const { opened, onSignedIn } = options;
  let { slot, isReplacement, hasSession } = opened;
  let isLocked = hasStandIn(opened);
  /** Counts the sessions of this run. The loss of an older session is no news. */
  let generation = 1;
  let isLost = false;
  let isEnded = false;
  let opening: Promise<void> | undefined;

  const openAgain = async () => {
    // While the user has to sign in, a stand-in takes the place of its like.
    const again = await openOne(options, slot, isLocked ? "omit" : "throw");
    ({ slot, hasSession } = again);
    if (isLocked) onSignedIn(again);
    isLocked = hasStandIn(again);
    // A store's record does not tell which calls know of the new session.
    isReplacement ||= again.isReplacement || (hasSession === true && !isEnded);
    isEnded = false;
    generation += 1;
    isLost = false;
  };

  const session = {
    get kept() {
      return slot === undefined ? undefined : { slot, isReplacement };
    },
    forget() {
      slot = undefined;
      isReplacement = false;
      isLost = true;
      isEnded = true;
    },
    async ensureOpen() {
      if (!isLost) return;
      opening ??= openAgain().finally(() => {
        opening = undefined;
      });
      await opening;
    },
    /** Has the connection's tools take the place of their stand-in. */
    async openSignedIn() {
      if (isLocked) {
        isLost = true;
        // No session was lost that the model would have to be told of.
        isEnded = true;
      }
      await session.ensureOpen();
    },
    /** For one call. The first result tells the model of a loss; a call without a result takes that back. */
    use() {
      const usedGeneration = generation;
      const tellLoss = isReplacement;
      isReplacement = false;
      return {
        slot,
        hasSession,
        tellLoss,
        takeBackNotice() {
          isReplacement ||= tellLoss;
        },
        lose(lostSlot: string | undefined) {
          if (usedGeneration !== generation || isLost) return;
          isLost = true;
          slot = lostSlot ?? slot;
        },
      };
    },
  };
  return session;
}

function hasStandIn({ tools }: OpenedConnection): boolean {
  return tools.some(({ isStandIn }) => isStandIn);
}

/** Opens the connection in a step. @throws {McpSessionError} `SESSION_LOST` */
async function openOne(
  { connection, principal, sessionId, steps }: RunConnectionOptions,
  slot: string | undefined,
  onUnavailable: SessionsRequest["onUnavailable"],
): Promise<OpenedConnection> {
  const slots = slot === undefined ? {} : { [connection]: slot };
  const request = { connections: [connection], principal, sessionId, slots, onUnavailable };
  let opened: SessionsResult;
  try {
    opened = await steps.sessions({ kind: "open", ...request });
  } catch (cause) {
    throw failure("SESSION_LOST", noOtherSession(connection), connection, cause);
  }
  const own = Object.hasOwn(opened, connection) ? opened[connection] : undefined;
  if (own === undefined) throw failure("SESSION_LOST", noOtherSession(connection), connection);
  return own;
}

/** The error of a call without a result. Agents only pass the message on, so it has the code too. */
function failure(
  code: McpSessionError["code"] | undefined,
  message: string,
  connection: string,
  cause?: unknown,
): Error {
  if (code === undefined) return new Error(message);
  return new McpSessionError(code, `${code}: ${message}`, {
    data: { method: "tools/call", connection },
    ...(cause !== undefined && { cause }),
  });
}

function interrupted(connection: string, tool: string): string {
  return `Connection ${connection}: the step that called ${tool} was interrupted. Whether the call was carried out is unknown, so it was not made again; check first.`;
}

function noOtherSession(connection: string): string {
  return `Connection ${connection}: the server no longer knows the session, and no other could be opened. The next call tries again.`;
}
