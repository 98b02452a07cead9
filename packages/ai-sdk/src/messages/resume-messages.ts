import { sameJson } from "@durable-mcp/core/internal";
import type { ToolSet } from "ai";
import {
  checkOptions,
  optionalOptions,
  someObject,
  inParallel,
  ownField,
  currentToolCall,
  type RunScope,
  type ResumeParts,
  resultsIn,
  joinRepeats,
  landingText,
  isParked,
  resumeParked,
  isOpen,
  unlessOver,
  isAgentCall,
  resumeAgentCall,
} from "@durable-mcp/sessions/internal";
import { replayOf } from "../tool-set/connection-tools.ts";
import { findResults, placesIn } from "./find-results.ts";
import { fillIn, findPlaceholders, idsIn, lastSpeaker } from "./placeholders.ts";
import { bindTools } from "./bind-tools.ts";
import type { ResumedMessages, UserMessage } from "./run-waiting.ts";
import { whileWaiting, type WhileWaiting } from "./stop-when-waiting.ts";

const resumeSchema = optionalOptions({ tools: someObject, whileWaiting });

/** `resume` of a run's waiting calls. */
export async function resumeMessages<MESSAGE, TOOLS extends ToolSet>(
  { stored, connections, repeats, findOpen, onSession, signal }: ResumeParts,
  scope: RunScope,
  messages: readonly MESSAGE[],
  options: { readonly tools: TOOLS; readonly whileWaiting?: WhileWaiting | undefined },
): Promise<ResumedMessages<MESSAGE, TOOLS>> {
  /** Fills in what is over. */
  const fill = async <EACH>(given: readonly EACH[]) => {
    const places = placesIn(given);
    const { calls, filled } = await findResults(
      stored,
      tools,
      places,
      async (call, place, tool) => {
        const again = { ...place, abortSignal: signal, waitingIn: idsIn };
        if (isAgentCall(call)) return await resumeAgentCall(stored!, call, again, tool);
        if (!isParked(call.call)) return await stored!.look(call, signal);
        const { connection: name, session } = call.call;
        const own = findOpen(name);
        const go = async (connection = own) =>
          await resumeParked(stored!, connection, call, replayOf(tool)?.tool);
        const isElsewhere =
          session && own && own.session !== "stateless" && !sameJson(session, own.keptAs);
        return isElsewhere ? await onSession(name, session, go) : await go();
      },
    );
    const inOrder = filled.values();
    const isOver = (at: number) => filled[at] !== undefined && !filled[at].isOpen;
    return {
      messages: fillIn(given, () => inOrder.next().value),
      over: places.filter((_, at) => isOver(at)).map(({ toolName }) => toolName),
      stillWaiting: calls.filter((call) => isOpen({ call })),
      resumed: calls.filter((call) => !isOpen({ call })),
    };
  };
  const { tools, whileWaiting: mode = "reply" } = checkOptions(resumeSchema, options);
  const inTool = currentToolCall();
  // The messages of a sub-agent say nothing of the root agent's calls.
  const joins =
    stored && inTool === undefined
      ? joinRepeats(stored, connections, repeats, () => ({
          results: resultsIn(messages),
          waiting: new Set(findPlaceholders(messages).map(({ toolCallId }) => toolCallId)),
        }))
      : undefined;
  let { over, ...resumed } = await fill(messages);
  const hasWritten = lastSpeaker(messages) === "user";
  if (mode === "withdraw" && hasWritten && resumed.stillWaiting.length > 0) {
    await inParallel(resumed.stillWaiting, ({ id }) => stored!.withdraw(id).catch(unlessOver));
    ({ over, ...resumed } = await fill(messages));
  }
  const { stillWaiting } = resumed;
  if (joins && mode === "reply") joins.waiting = stillWaiting;
  for (const call of stillWaiting)
    inTool?.agents?.waiting.push({ call, withdraw: () => stored!.withdraw(call.id) });
  const isLanding = over.length > 0 && lastSpeaker(resumed.messages) === "model";
  const note = { role: "user", content: landingText(over) } as const;
  const landing: UserMessage[] = isLanding ? [note] : [];
  const isOfPage = Array.isArray(ownField(resumed.messages.at(-1), "parts"));
  return {
    ...resumed,
    tools: bindTools(scope, tools),
    messages: isOfPage ? resumed.messages : [...resumed.messages, ...(landing as never[])],
    landing,
    goesOn: stillWaiting.length === 0 || (mode !== "hold" && (hasWritten || isLanding)),
  };
}
