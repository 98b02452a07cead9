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
  ToolResult,
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

/** How often a call that may run twice is tried if each step is interrupted. */
const maxAttempts = 4;

interface RunConnectionOptions {
  connection: string;
  principal: Principal;
  sessionId: string | undefined;
  steps: ConnectionStepFunctions;
  opened: OpenedConnection;
}

/**
 * Keeps a connection's slot and makes calls on it. All calls of a turn share one session. If it is
 * lost, the first call to return opens another session, and the other calls wait for it.
 */
export function createRunConnection(options: RunConnectionOptions): RunConnection {
  const { connection, principal, sessionId } = options;
  const session = createRunSession(options);
  const callSteps = createCallSteps(options);
  return {
    get kept() {
      return session.kept;
    },
    forget: () => session.forget(),
    async call({ tool, mayRunTwice }, input, toolCallId) {
      const call = {
        ...{ connection, tool, input, principal, sessionId, mayRunTwice },
        ...(toolCallId !== undefined && { toolCallId }),
      };
      let hasMetLoss = false;
      for (let attempt = 1; ; attempt += 1) {
        await session.ensureOpen();
        const use = session.use();
        const { slot, hasSession, tellLoss } = use;
        const request = { ...call, slot, tellLoss, ...(hasSession === true && { hasSession }) };
        let result: CallResult;
        try {
          result = await callSteps.begin(request);
        } catch (cause) {
          use.takeBackNotice();
          if (mayRunTwice && attempt < maxAttempts) continue;
          throw failure("OUTCOME_UNKNOWN", interrupted(connection, tool), connection, cause);
        }
        result = await waitForPerson(result, { principal, sessionId }, (waiting, asked) =>
          callSteps.goOn({ ...call, slot, tellLoss: false, toolCallId: asked.toolCallId, waiting }),
        );
        if (result.ok) return result.output;
        use.takeBackNotice();
        const { code, message } = result;
        if (!result.isLost) throw failure(code, message, connection);
        use.lose(result.slot);
        if (!result.maySendAgain || hasMetLoss) throw failure(code, message, connection);
        hasMetLoss = true;
      }
    },
  };
}

/** The steps of one connection's calls. */
function createCallSteps({
  connection,
  steps,
  opened: { keepsCalls = false },
}: RunConnectionOptions) {
  /**
   * Goes on with a call that waits. An interrupted step is repeated if a store claims each answer, or if the tool
   * may run twice.
   *
   * @throws {McpSessionError} `OUTCOME_UNKNOWN`
   */
  const goOn = async (request: CallRequest): Promise<CallResult> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await steps.call(request);
      } catch (cause) {
        const { mayRunTwice, tool } = request;
        if ((keepsCalls || mayRunTwice) && attempt < maxAttempts) continue;
        throw failure("OUTCOME_UNKNOWN", interrupted(connection, tool), connection, cause);
      }
    }
  };
  return {
    goOn,
    /**
     * Begins a call. If its step is interrupted, a store may have it: then it waits for a person.
     *
     * @throws the engine's error if the step was interrupted
     */
    async begin(request: CallRequest): Promise<CallResult> {
      try {
        return await steps.call(request);
      } catch (error) {
        const { mayRunTwice, toolCallId } = request;
        if (mayRunTwice || !keepsCalls || toolCallId === undefined) throw error;
        return await goOn({ ...request, waiting: { kind: "find" } });
      }
    },
  };
}

/** The session of a connection in a run, and the sessions that take its place. */
function createRunSession({
  connection,
  principal,
  sessionId,
  steps,
  opened,
}: RunConnectionOptions) {
  let { slot, isReplacement, hasSession } = opened;
  /** Counts the sessions of this run. The loss of an older session is no news. */
  let generation = 1;
  let isLost = false;
  let isEnded = false;
  let opening: Promise<void> | undefined;

  const openAgain = async () => {
    const request: SessionsRequest = {
      kind: "open",
      connections: [connection],
      principal,
      sessionId,
      slots: slot === undefined ? {} : { [connection]: slot },
      onUnavailable: "throw",
    };
    let again: OpenedConnection | undefined;
    try {
      const result = await steps.sessions(request);
      again = Object.hasOwn(result, connection) ? result[connection] : undefined;
    } catch (cause) {
      throw failure("SESSION_LOST", noOtherSession(connection), connection, cause);
    }
    if (again === undefined) {
      throw failure("SESSION_LOST", noOtherSession(connection), connection);
    }
    ({ slot, hasSession } = again);
    // A store's record does not tell which calls know of the new session.
    isReplacement ||= again.isReplacement || (hasSession === true && !isEnded);
    isEnded = false;
    generation += 1;
    isLost = false;
  };

  return {
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
