import { invalid, waitingResult } from "@durable-mcp/core/internal";
import type { WaitingCall } from "@durable-mcp/core/waiting";
import type { StoredCall } from "@durable-mcp/core/waiting/internal";
import type { ToolSet } from "ai";
import {
  inParallel,
  ownField,
  isOpen,
  type LoadedWaiting,
  loadWaiting,
  type StoredCalls,
  agentNameOf,
} from "@durable-mcp/sessions/internal";
import { replayOf } from "../tool-set/connection-tools.ts";
import type { FilledIn } from "./placeholders.ts";
import { findPlaceholders, type Placeholder } from "./placeholders.ts";
import {
  contentModelOutput,
  plainModelOutput,
  waitingModelOutput,
} from "../tool-set/model-output.ts";

/** The most calls that may have placeholders in messages. Each costs a read of the store. */
const maxCalls = 1_000;

/**
 * The placeholders in messages, which come from browsers.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID` for what is no list, and for more calls than a step looks up
 */
export function placesIn(messages: readonly unknown[]): Placeholder[] {
  if (!Array.isArray(messages))
    throw invalid("messages", "messages must be a list of model messages or UI messages.");
  const places = findPlaceholders(messages);
  if (new Set(places.map(({ id }) => id)).size <= maxCalls) return places;
  throw invalid(
    "messages",
    `messages have placeholders of more than ${maxCalls} calls. Nothing was looked up; keep the messages that resume gives, or leave out older ones.`,
  );
}

type ResumeCall = (
  parked: StoredCall,
  place: Placeholder,
  tool: ToolSet[string] | undefined,
) => Promise<StoredCall>;

interface Results {
  /** The calls of the messages, in the order of their first places. */
  readonly calls: readonly WaitingCall[];
  /** For each place its result; `undefined` as long as its call waits, or the placeholder anew. */
  readonly filled: readonly (FilledIn | undefined)[];
}

/**
 * Looks up the calls of these places, each once, and makes their results.
 *
 * @param resumeCall goes on with a call that can, with its tool if the step has it
 */
export async function findResults(
  stored: StoredCalls | undefined,
  tools: ToolSet,
  places: readonly Placeholder[],
  resumeCall: ResumeCall,
): Promise<Results> {
  const waiting = await loadWaiting();
  const ids = [...new Set(places.map(({ id }) => id))];
  const found = new Map(await inParallel(ids, async (id) => [id, await stored?.read(id)] as const));
  // Messages come from browsers: only a call that is in its place is carried out.
  const parked = new Map<string, Placeholder>();
  await inParallel(places, async (place) => {
    const call = found.get(place.id);
    const goesOn = call && (isOpen(call) || waiting.isOnServer(call.call));
    if (goesOn && (await isCallOf(call, tools, place))) parked.set(place.id, place);
  });
  await inParallel([...parked], async ([id, place]) =>
    found.set(id, await resumeCall(found.get(id)!, place, ownTool(tools, place.toolName))),
  );

  const matching = new Set<StoredCall>();
  /** Places of the same call under the same name have the same result. */
  const made = new Map<string, Promise<FilledIn>>();
  const filled = await inParallel(places, async (place) => {
    const call = found.get(place.id);
    if (call === undefined || !(await isCallOf(call, tools, place)))
      return failedWith(waiting.goneCall());
    matching.add(call);
    if (isOpen(call)) {
      const isLocked = call.call.type === "call-waits-for-sign-in";
      return isLocked ? placeholderOf(call, place, waiting.describeWaiting) : undefined;
    }
    const key = JSON.stringify([place.id, place.toolName]);
    const result = made.get(key) ?? resultOf(call, tools, place);
    made.set(key, result);
    return await result;
  });
  const calls = [...found.values()].filter(
    (call): call is StoredCall => call !== undefined && matching.has(call),
  );
  const areKnown = await inParallel(
    calls,
    async (call) => (await stored!.noteDelivered(call)) || call.call.answer !== undefined,
  );
  // A leg that was given up for dead has ended meanwhile, and its result is known after all.
  if (areKnown.includes(false)) return await findResults(stored, tools, places, resumeCall);
  return { calls: calls.map(({ call }) => waiting.describeWaiting(call)), filled };
}

/** Messages come from browsers: whether the call in the message is the one that waited. */
async function isCallOf(
  { call }: StoredCall,
  tools: ToolSet,
  { toolCallId, toolName, input }: Placeholder,
): Promise<boolean> {
  const { agentCall, hasDigest } = await loadWaiting();
  const { connection } = call;
  const isRepeat = call.repeatedBy?.includes(toolCallId);
  if (call.toolCallId !== toolCallId && !isRepeat) return false;
  const { method, params } = call.request;
  const tool = String(params["name"]);
  if (call.type === "sub-agent") {
    const isNamed = [toolName, agentNameOf(ownTool(tools, toolName))].includes(tool);
    return isNamed && (await hasDigest({ ...agentCall, input }, call.digest));
  }
  // Applications name tools as they like, and those of a connection that is down are missing.
  const named = call.isStandIn ? undefined : replayOf(ownTool(tools, toolName));
  if (named && (named.connection !== connection || named.tool.name !== tool)) return false;
  return await hasDigest({ connection, method, tool, input }, call.digest);
}

/** What takes the place of a call that is over. */
async function resultOf(
  { call }: StoredCall,
  tools: ToolSet,
  place: Placeholder,
): Promise<FilledIn> {
  const { waitingFailure } = await loadWaiting();
  const { toolCallId, input } = place;
  const { answer } = call;
  if (answer === undefined) return failedWith(waitingFailure(call));
  const tool = ownTool(tools, place.toolName);
  try {
    if (call.type === "sub-agent" && answer.error === undefined) {
      const output = ownField(answer.result, "output");
      const modelOutput = await tool?.toModelOutput?.({ toolCallId, input, output });
      return { modelOutput: modelOutput ?? plainModelOutput(output), ui: availableAs(output) };
    }
    const replay = call.isStandIn ? undefined : replayOf(tool);
    if (replay === undefined) {
      // The tools of a connection that is down are missing, and the answer is here all the same.
      const { result, error } = answer;
      if (error !== undefined) throw new Error(error.message);
      return { modelOutput: contentModelOutput(result), ui: availableAs(result) };
    }
    const output = await replay.make(answer, { input, toolCallId });
    const modelOutput = await tool?.toModelOutput?.({ toolCallId, input, output });
    return { modelOutput: modelOutput ?? plainModelOutput(output), ui: availableAs(output) };
  } catch (error) {
    return failedWith(error);
  }
}

/** The placeholder anew: whether the user has signed in, one of a process that is gone does not say. */
function placeholderOf(
  { call }: StoredCall,
  { toolCallId, repeats }: Placeholder,
  describe: Describe,
) {
  const output = waitingResult({ ...describe(call), ...(repeats && { toolCallId, repeats }) });
  return {
    modelOutput: waitingModelOutput(output),
    ui: availableAs(output),
    isOpen: true,
  } as const;
}

type Describe = LoadedWaiting["describeWaiting"];

const availableAs = (output: unknown) => ({ state: "output-available", output }) as const;

function ownTool(tools: ToolSet, name: string) {
  return Object.hasOwn(tools, name) ? tools[name] : undefined;
}

function failedWith(error: unknown): FilledIn {
  const text = String(error);
  const message = error instanceof Error ? error.message : text;
  return {
    modelOutput: { type: "error-text", value: text },
    ui: { state: "output-error", errorText: message },
  };
}
