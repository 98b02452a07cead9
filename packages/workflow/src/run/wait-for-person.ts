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
 * Sleeps until a person has answered, and sends each answer in a step, as long as the server has another question.
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
  for (;;) {
    const { waiting } = result;
    if (waiting === undefined) return result;
    // Of another answer the person decides.
    const isRefused = result.ok || result.code === "INPUT_INVALID";
    const pauseMs = isRefused ? undefined : pausesMs[attempts];
    if (said === undefined || pauseMs === undefined) {
      said = await hear(waiting, asker);
      attempts = 0;
    } else {
      attempts += 1;
      await sleep(pauseMs);
    }
    const { id, round, record } = waiting;
    result = await send({ ...said, id, round, ...(record !== undefined && { record }) }, waiting);
  }
}

/** What a person has said, or that nobody has. */
type Said = Pick<Exclude<WaitingRequest, { kind: "find" }>, "kind" | "payload">;

/** One hook for one round: a second answer finds it gone, or is not listened to. */
async function hear({ call, endsAt }: WaitingStep, { principal, sessionId }: Asker): Promise<Said> {
  const metadata: QuestionHook = {
    type: "durable-mcp/question",
    call,
    principal,
    ...(sessionId !== undefined && { sessionId }),
  };
  // The engine makes the token. Nobody guesses it, and only server code can use it.
  const hook = createHook<unknown>({ metadata: metadata as Record<string, any> });
  const told = hook.then((payload): Said => ({ kind: "told", payload }));
  try {
    if (endsAt === undefined) return await told;
    const ended = sleep(new Date(endsAt)).then((): Said => ({ kind: "expire" }));
    return await Promise.race([told, ended]);
  } finally {
    hook.dispose();
  }
}
