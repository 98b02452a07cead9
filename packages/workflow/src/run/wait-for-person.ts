import type { Principal } from "@durable-mcp/core";
import { createHook, sleep } from "workflow";
import type { CallResult, QuestionHook, WaitingRequest, WaitingStep } from "../step-protocol.ts";

/** The pauses before an answer that was certainly not carried out is sent again, in milliseconds. */
const pausesMs = [1_000, 10_000, 60_000];

/** On whose behalf the run asks. */
interface Asker {
  readonly principal: Principal;
  readonly sessionId: string | undefined;
}

/**
 * Sleeps until a person has answered, the user has signed in, or the server may be asked again that works on the call.
 * Then it goes on with the call in a step, as long as it waits again.
 *
 * @param send has one step go on with the call
 * @returns the result of the last step, after which nothing waits
 */
export async function waitForPerson(
  asked: CallResult,
  asker: Asker,
  send: (waiting: WaitingRequest, asked: WaitingStep) => Promise<CallResult>,
): Promise<CallResult> {
  let result = asked;
  let said: Said | undefined;
  let attempts = 0;
  let hook: ReturnType<typeof listen> | undefined;
  const stopListening = () => {
    hook?.dispose();
    hook = undefined;
  };
  try {
    for (;;) {
      const { waiting } = result;
      if (waiting === undefined) return result;
      const { id, round, record, pollAfter } = waiting;
      const isForSignIn = round === 0 && pollAfter === undefined;
      // Of another answer the person decides.
      const isRefused = result.ok || result.code === "INPUT_INVALID";
      const pauseMs = isRefused ? undefined : pausesMs[attempts];
      if (said === undefined || pauseMs === undefined) {
        // A hook that waits for the sign-in is there before the first look, and stays, so that no sign-in is missed.
        const isFirstLook = isForSignIn && hook === undefined;
        hook ??= listen(waiting, asker);
        said = isFirstLook ? { kind: "told" } : await hook.hear();
        if (!isForSignIn) stopListening();
        attempts = 0;
      } else {
        attempts += 1;
        await sleep(pauseMs);
      }
      result = await send({ ...said, id, round, ...(record !== undefined && { record }) }, waiting);
      if (result.waiting?.round !== 0) stopListening();
    }
  } finally {
    stopListening();
  }
}

/** What a person has said, or that nobody has. */
type Said = Pick<Exclude<WaitingRequest, { kind: "find" }>, "kind" | "payload">;

/** One hook for one round: a second answer finds it gone, or is not listened to. */
function listen(
  { call, pollAfter, endsAt = pollAfter }: WaitingStep,
  { principal, sessionId }: Asker,
) {
  const metadata: QuestionHook = {
    type: "durable-mcp/question",
    call,
    principal,
    ...(sessionId !== undefined && { sessionId }),
  };
  // The engine makes the token. Nobody guesses it, and only server code can use it.
  const hook = createHook<unknown>({ metadata: metadata as Record<string, any> });
  const ended = endsAt !== undefined && sleep(new Date(endsAt));
  const kind = pollAfter === undefined ? "expire" : "look";
  return {
    async hear(): Promise<Said> {
      const told = hook.then((payload): Said => ({ kind: "told", payload }));
      if (ended === false) return await told;
      return await Promise.race([told, ended.then((): Said => ({ kind }))]);
    },
    dispose: () => hook.dispose(),
  };
}
