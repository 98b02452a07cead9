import type { Principal } from "@durable-mcp/core";
import { type CheckContent, mayAsk, replaceLegacyShim } from "../asked/legacy-shim.ts";
import { buildInTime } from "../author/build-in-time.ts";
import { createCloseCallbacks } from "../author/close-callbacks.ts";
import { withRequestState } from "../author/request-state-codec.ts";
import { createServerLink, type ServerLink } from "../author/server-link.ts";
import { clientOfSession, createServerSession } from "../author/server-session.ts";
import type { ConnectableServer } from "../author/server-session.ts";
import type { SessionHandlerOptions } from "../author/session-handler-options.ts";
import { inTime } from "../base/in-time.ts";
import type { SessionCalls } from "../calls/session-calls.ts";
import type { LiveContext } from "../context/handler-context.ts";
import { runningCall } from "../context/running-call.ts";
import { createSessionStates } from "../context/session-state.ts";
import { hashOwner } from "../context/state-handle.ts";
import { createSessionTasks } from "../session-tasks/session-tasks.ts";

interface AuthorSideOptions {
  readonly principal: Principal;
  readonly calls: SessionCalls;
  /** The first task runs, or the last is over. */
  readonly onBusy: (isBusy: boolean) => void;
  /** The author's code has closed its server. */
  readonly onGone: () => void;
}

/** The author's server of one live session, and what its code has of the session. */
export async function createAuthorSide<State extends object>(
  context: LiveContext,
  options: SessionHandlerOptions<State>,
  { principal, calls, onBusy, onGone }: AuthorSideOptions,
) {
  const { stored, settings, emit } = context;
  const { serverMs } = settings.timeouts;
  const callbacks = createCloseCallbacks(emit);
  const states = await createSessionStates(context, options, principal);
  const { hash, record } = stored;
  // Anonymous clients are not told apart, so that the tasks of theirs are the session's.
  const scope = principal.type === "anonymous" ? hash : await hashOwner(record.owner);
  let tasks: ReturnType<typeof createSessionTasks> | undefined; // Most servers have none.
  const createTasks = () =>
    createSessionTasks({
      ...context,
      ...{ hash, owner: record.owner, scope, onBusy },
      callOf: () => runningCall.getStore()?.state,
      holdCall: calls.holdRunning,
      answer: calls.answer,
      receive: (message) => link.receive(message),
    });
  const link: ServerLink = createServerLink(context, serverMs, {
    onRequest: (request, dispatch) => {
      const state = calls.of(request.id)?.state;
      runningCall.run({ session: states.access, state, request }, dispatch);
    },
    onAnswer: calls.answer,
    onRelated: calls.related,
    onStandalone: (message) => context.standalone.append(stored, message),
    onSettled: (question) => tasks?.settled(question),
    onCancelled: calls.cancel,
    onClosed: () => {
      if (!context.closed.aborted) onGone();
    },
  });
  const client = clientOfSession(stored);
  const session = createServerSession(
    client,
    states.access,
    () => (tasks ??= createTasks()).access,
  );
  let check: CheckContent | undefined;
  let server: ConnectableServer | undefined;

  const running = () => states.running()?.request;
  const onFailed = (error: unknown) => emit({ type: "failed", error });

  async function build(): Promise<ConnectableServer> {
    const given = { session, principal, onClose: callbacks.add, tasks: {} };
    const built = await options.createServer(
      withRequestState(given, { settings, keys: options.keys, principal, running }),
    );
    check = replaceLegacyShim(built, { roundsOf: calls.roundsOf, onRaised: calls.raise });
    if (!check && mayAsk(built)) context.tellNotStored();
    await connect(built, link);
    return built;
  }

  return {
    ...{ link, states, tasks: () => tasks, check: () => check },
    /** Builds the server and connects it. */
    open: async (): Promise<void> => {
      server = await callbacks.unlessItFails(() => buildInTime(settings, build()));
    },
    /** Also what the author's code wants done then. Does not reject. */
    close: async (): Promise<void> => {
      const late = `The server took longer than timeouts.serverMs (${serverMs}) to close.`;
      const closing = Promise.resolve(server?.close()).catch(onFailed);
      const closed = closing.then(() => callbacks.run());
      await inTime(closed, serverMs, late).catch(onFailed);
    },
  };
}

async function connect(server: ConnectableServer, link: ServerLink): Promise<void> {
  try {
    await server.connect(link.transport);
  } catch (error) {
    await server.close().catch(() => {});
    throw error;
  }
}
