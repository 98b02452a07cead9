import type { ToolSet } from "ai";
import { checkOptions, optionalOptions, someObject } from "../base/check-options.ts";
import { inParallel } from "../base/in-parallel.ts";
import { ownField } from "../base/own-field.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import type { StepTime } from "../connection/step-time.ts";
import { replayOf } from "../tools/connection-tools.ts";
import { currentToolCall } from "../tools/tool-call-scope.ts";
import { findResults, placesIn } from "./find-results.ts";
import { fillIn, lastSpeaker } from "./placeholders.ts";
import { joinRepeats, landingText, type RepeatedCalls } from "./repeats.ts";
import {
  createWaitingUses,
  type RunWaiting,
  type UserMessage,
  type WaitingParts,
} from "./run-waiting.ts";
import { isParked, resumeParked } from "./sign-in.ts";
import { whileWaiting } from "./stop-when-waiting.ts";
import { isOpen, loadWaiting, unlessOver } from "./stored-calls.ts";
import { isAgentCall, resumeAgentCall } from "./sub-agents.ts";
import type { WaitingSource } from "./waiting-source.ts";

const resumeSchema = optionalOptions({ tools: someObject, whileWaiting });

/**
 * @param find finds a connection for a use
 * @param bind gives tools for an agent of the run
 */
export function createRunWaiting(
  {
    connections,
    step,
    ...parts
  }: Pick<WaitingParts, "declared" | "principal" | "now"> & {
    readonly connections: readonly LiveConnection[];
    readonly step: StepTime;
    readonly waiting?: WaitingSource | undefined;
  },
  find: (name: string) => LiveConnection,
  bind: <TOOLS extends ToolSet>(tools: TOOLS) => TOOLS,
) {
  const own = (name: string) => connections.find((each) => each.name === name);
  const findOpen = (name: string) => own(name) && find(name);
  const { stored, ...uses } = createWaitingUses({
    ...parts,
    source: parts.waiting,
    find: findOpen,
    emit: (name, event) => own(name)?.emit({ ...event, connection: name }),
  });
  /** Fills in what is over. */
  const fill = async <MESSAGE>(messages: readonly MESSAGE[], tools: ToolSet) => {
    const places = placesIn(messages);
    const { calls, filled } = await findResults(stored, tools, places, async (...[call, ...of]) => {
      if (isAgentCall(call)) return await resumeAgentCall(stored!, call, ...of, step.signal);
      if (!isParked(call.call)) return await stored!.look(call, step.signal);
      const { contextOf } = stored!;
      return await resumeParked({ contextOf, find: findOpen }, call, replayOf(of[1])?.tool);
    });
    const inOrder = filled.values();
    return {
      messages: fillIn(messages, () => inOrder.next().value),
      over: places.filter((_, at) => filled[at] !== undefined).map(({ toolName }) => toolName),
      stillWaiting: calls.filter((call) => isOpen({ call })),
      resumed: calls.filter((call) => !isOpen({ call })),
    };
  };

  const repeats: RepeatedCalls = {};
  const waiting: RunWaiting = {
    ...uses,
    async find(id) {
      const { answered } = await loadWaiting();
      const found = await stored?.read(id);
      return found && answered(found.call);
    },
    async resume(messages, options) {
      const { tools, whileWaiting: mode = "reply" } = checkOptions(resumeSchema, options);
      let { over, ...resumed } = await fill(messages, tools);
      const hasWritten = lastSpeaker(messages) === "user";
      if (mode === "withdraw" && hasWritten && resumed.stillWaiting.length > 0) {
        await inParallel(resumed.stillWaiting, ({ id }) => stored!.withdraw(id).catch(unlessOver));
        ({ over, ...resumed } = await fill(messages, tools));
      }
      const { stillWaiting } = resumed;
      const inTool = currentToolCall();
      // The messages of a sub-agent say nothing of the root agent's calls.
      if (stored && inTool === undefined)
        joinRepeats(stored, mode === "reply" ? stillWaiting : [], { connections, repeats });
      for (const call of stillWaiting)
        inTool?.agents?.waiting.push({ call, withdraw: () => stored!.withdraw(call.id) });
      const isLanding = over.length > 0 && lastSpeaker(resumed.messages) === "model";
      const note = { role: "user", content: landingText(over) } as const;
      const landing: UserMessage[] = isLanding ? [note] : [];
      const isOfPage = Array.isArray(ownField(resumed.messages.at(-1), "parts"));
      return {
        ...resumed,
        tools: bind(tools),
        messages: isOfPage ? resumed.messages : [...resumed.messages, ...(landing as never[])],
        landing,
        goesOn: stillWaiting.length === 0 || (mode !== "hold" && (hasWritten || isLanding)),
      };
    },
  };
  return { waiting, stored, repeats };
}
