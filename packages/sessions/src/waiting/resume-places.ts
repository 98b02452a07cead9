/** How a conversation goes on in which calls wait: what takes the place of each result that was missing. */

import { sameJson, waitingResult } from "@durable-mcp/core/internal";
import type { WaitingCall } from "@durable-mcp/core/waiting";
import type { StoredCall } from "@durable-mcp/core/waiting/internal";
import { inParallel } from "../base/in-parallel.ts";
import { ownField } from "../base/own-field.ts";
import { type OfferedTool, offeredToolOf } from "../tools/offered-tool.ts";
import { currentToolCall } from "../tools/tool-call-scope.ts";
import { resultsIn } from "./lost-calls.ts";
import { joinRepeats, landingText } from "./repeats.ts";
import { isAgentCall, resumeAgentCall } from "./resume-agent-call.ts";
import { isParked, resumeParked } from "./resume-parked.ts";
import type {
  Conversation,
  PlaceEnd,
  ResumedPlaces,
  ResumeParts,
  WaitingPlace,
} from "./resumption.ts";
import { isOpen, loadWaiting, unlessOver } from "./stored-calls.ts";
import { agentNameOf } from "./sub-agents.ts";

/** `resume` of a run's part in a conversation. */
export async function resumePlaces(
  parts: ResumeParts,
  conversation: Conversation,
): Promise<ResumedPlaces> {
  const { stored, connections, repeats } = parts;
  const { places, messages, stillWaiting: fate } = conversation;
  const inTool = currentToolCall();
  // The messages of a sub-agent say nothing of the root agent's calls.
  const joins =
    stored && messages && inTool === undefined
      ? joinRepeats(stored, connections, repeats, () => ({
          results: resultsIn(messages),
          waiting: new Set(places.map(({ toolCallId }) => toolCallId)),
        }))
      : undefined;
  let found = await findEnds(parts, conversation);
  const open = found.calls.filter((call) => isOpen({ call }));
  if (fate === "withdraw" && open.length > 0) {
    await inParallel(open, ({ id }) => stored!.withdraw(id).catch(unlessOver));
    found = await findEnds(parts, conversation);
  }
  const { calls, ends } = found;
  const stillWaiting = calls.filter((call) => isOpen({ call }));
  if (joins && fate === "join") joins.waiting = stillWaiting;
  for (const call of stillWaiting)
    inTool?.agents?.waiting.push({ call, withdraw: () => stored!.withdraw(call.id) });
  const over = places.filter((_, at) => ends[at]!.state !== "waits");
  const names = over.map(({ toolName }) => toolName);
  return {
    ...{ ends, stillWaiting, resumed: calls.filter((call) => !isOpen({ call })) },
    news: conversation.takesNews && inTool === undefined ? await parts.news() : [],
    landing: names.length === 0 ? "" : landingText(names),
  };
}

type Tools = Conversation["tools"];

/** The calls in the order of their first places. */
interface FoundEnds {
  readonly calls: readonly WaitingCall[];
  readonly ends: readonly PlaceEnd[];
}

async function findEnds(parts: ResumeParts, conversation: Conversation): Promise<FoundEnds> {
  const { stored } = parts;
  const { places, tools } = conversation;
  const waiting = await loadWaiting();
  const ids = [...new Set(places.map(({ id }) => id))];
  const found = new Map(await inParallel(ids, async (id) => [id, await stored?.read(id)] as const));
  // Messages come from browsers: only a call that is in its place is carried out.
  const parked = new Map<string, WaitingPlace>();
  await inParallel(places, async (place) => {
    const call = found.get(place.id);
    const goesOn = call && call.call.answer === undefined;
    if (goesOn && (await isCallOf(call, tools, place))) parked.set(place.id, place);
  });
  await inParallel([...parked], async ([id, place]) =>
    found.set(id, await goOn(parts, found.get(id)!, { ...conversation, place })),
  );

  const matching = new Set<StoredCall>();
  /** Places of the same call under the same name have the same result. */
  const made = new Map<string, Promise<PlaceEnd>>();
  const ends = await inParallel(places, async (place): Promise<PlaceEnd> => {
    const call = found.get(place.id);
    if (call === undefined || !(await isCallOf(call, tools, place)))
      return { state: "failed", error: waiting.goneCall() };
    matching.add(call);
    if (isOpen(call)) {
      if (call.call.type !== "call-waits-for-sign-in") return { state: "waits" };
      // Whether the user has signed in, a placeholder of a process that is gone does not say.
      const { toolCallId, repeats } = place;
      const described = waiting.describeWaiting(call.call);
      const placeholder = waitingResult({ ...described, ...(repeats && { toolCallId, repeats }) });
      return { state: "waits", placeholder };
    }
    const key = JSON.stringify([place.id, place.toolName]);
    const end = made.get(key) ?? endOf(call, tools, place);
    made.set(key, end);
    return await end;
  });
  const calls = [...found.values()].filter(
    (call): call is StoredCall => call !== undefined && matching.has(call),
  );
  const areKnown = await inParallel(
    calls,
    async (call) => (await stored!.noteDelivered(call)) || call.call.answer !== undefined,
  );
  // A leg that was given up for dead has ended meanwhile, and its result is known after all.
  if (areKnown.includes(false)) return await findEnds(parts, conversation);
  return { calls: calls.map(({ call }) => waiting.describeWaiting(call)), ends };
}

const none = () => [];

/** Goes on with a call, if it can. */
async function goOn(
  { stored, findOpen, onSession, signal }: ResumeParts,
  found: StoredCall,
  { place, tools, waitingIn }: Conversation & { readonly place: WaitingPlace },
): Promise<StoredCall> {
  const tool = ownTool(tools, place.toolName);
  if (isAgentCall(found)) {
    const again = { ...place, abortSignal: signal, waitingIn: waitingIn ?? none };
    return await resumeAgentCall(stored!, found, again, tool);
  }
  if (!isParked(found.call)) return await stored!.look(found, signal);
  const { connection: name, session } = found.call;
  const own = findOpen(name);
  const go = async (connection = own) =>
    await resumeParked(stored!, connection, found, offeredOf(tool)?.listed);
  const isElsewhere =
    session && own && own.session !== "stateless" && !sameJson(session, own.keptAs);
  return isElsewhere ? await onSession(name, session, go) : await go();
}

/** Messages come from browsers: whether the call in the message is the one that waited. */
async function isCallOf(
  { call }: StoredCall,
  tools: Tools,
  { toolCallId, toolName, input }: WaitingPlace,
): Promise<boolean> {
  const { hasInput } = await loadWaiting();
  const { connection } = call;
  const isRepeat = call.repeatedBy?.includes(toolCallId);
  if (call.toolCallId !== toolCallId && !isRepeat) return false;
  const tool = String(call.request.params["name"]);
  if (call.type === "sub-agent") {
    const isNamed = [toolName, agentNameOf(ownTool(tools, toolName))].includes(tool);
    return isNamed && (await hasInput(call, input));
  }
  // Applications name tools as they like, and those of a connection that is down are missing.
  const named = call.isStandIn ? undefined : offeredOf(ownTool(tools, toolName));
  if (named && (named.connection !== connection || named.tool !== tool)) return false;
  return await hasInput(call, input);
}

/** What takes the place of a call that is over. */
async function endOf({ call }: StoredCall, tools: Tools, place: WaitingPlace): Promise<PlaceEnd> {
  const { waitingFailure } = await loadWaiting();
  const { toolCallId, input } = place;
  const { answer } = call;
  if (answer === undefined) return { state: "failed", error: waitingFailure(call) };
  if (call.type === "sub-agent" && answer.error === undefined)
    return { state: "over", output: ownField(answer.result, "output"), isOfServer: false };
  const tool = call.isStandIn ? undefined : offeredOf(ownTool(tools, place.toolName));
  try {
    if (tool?.replay) {
      const output = await tool.replay(answer, { input, toolCallId });
      const notice = tool.noticeFor?.(output, toolCallId);
      return { state: "over", output, isOfServer: false, notice };
    }
  } catch (error) {
    return { state: "failed", error };
  }
  // The tools of a connection that is down are missing, and the answer is here all the same.
  const { result, error } = answer;
  if (error !== undefined) return { state: "failed", error: new Error(error.message) };
  return { state: "over", output: result, isOfServer: true };
}

function ownTool(tools: Tools, name: string): object | undefined {
  return Object.hasOwn(tools, name) ? tools[name] : undefined;
}

/** The tool of a server; `undefined` for another one, and for a stand-in. */
function offeredOf(tool: object | undefined): OfferedTool | undefined {
  const offered = offeredToolOf(tool);
  return offered?.isStandIn ? undefined : offered;
}
