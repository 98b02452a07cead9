import type { Principal } from "@durable-mcp/core";
import type { WaitingCall } from "@durable-mcp/core/waiting";
import type { StoredCall, WaitingAnswer } from "@durable-mcp/core/waiting/internal";
import type { ToolSet } from "ai";
import { checkOptions } from "../base/check-options.ts";
import { pausingInput } from "../connection/input-options.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import { createStoredCalls, loadWaiting, type StoredCalls } from "../connection/stored-calls.ts";
import type { WaitingSource } from "../connection/waiting-source.ts";
import { scrubResult } from "../errors/scrub-secrets.ts";
import { providedTexts } from "../tools/provided-arguments.ts";
import { replayOf } from "../tools/replay-call.ts";
import { type FilledIn, fillIn } from "../waiting/fill-in.ts";
import { findPlaceholders, type Placeholder } from "../waiting/find-placeholders.ts";
import { plainModelOutput } from "../waiting/plain-output.ts";
import { answerSchema, resumeSchema } from "./option-schemas.ts";
import type { WaitingRegistry } from "./waiting-registry.ts";

/** The parts of a registry that its waiting calls need. */
interface WaitingParts {
  readonly connections: readonly LiveConnection[];
  readonly principal: Principal | undefined;
  readonly waiting?: WaitingSource | undefined;
  readonly now: () => number;
}

/** @param find finds a connection for a use */
export function createRegistryWaiting(
  { connections, principal, waiting: source, now }: WaitingParts,
  find: (name: string) => LiveConnection,
): WaitingRegistry {
  const declared = (name: string) => connections.find((each) => each.name === name);
  const stored =
    source &&
    createStoredCalls({
      ...{ source, principal, now },
      limitsOf: (name) => pausingInput(declared(name)?.definition.options ?? {}),
      emit: (name, event) => declared(name)?.emit({ ...event, connection: name }),
    });
  const read = async (id: string): Promise<StoredCall> => {
    const found = await stored?.read(id);
    if (found !== undefined) return found;
    const { notWaiting } = await loadWaiting();
    throw notWaiting(undefined);
  };

  return {
    list: async () => (await stored?.list()) ?? [],
    async answer(id, responses, options = {}) {
      const { round, abortSignal: signal } = checkOptions(answerSchema, options);
      const { describeWaiting, notPausing } = await loadWaiting();
      const { call } = await read(id);
      const { pausing } = find(call.connection);
      if (pausing === undefined) throw notPausing(call);
      return describeWaiting(await pausing.answer(call, responses, { round, signal }));
    },
    async withdraw(id) {
      await read(id);
      return await stored!.withdraw(id);
    },
    async resume(messages, options) {
      const { tools } = checkOptions(resumeSchema, options);
      const places = findPlaceholders(messages);
      const found = new Map<string, Found>();
      await Promise.all(
        places.map(async (place) => {
          const key = keyOf(place);
          if (!found.has(key)) found.set(key, await findResult(stored, tools, place));
        }),
      );
      const calls = [...found.values()];
      return {
        messages: fillIn(messages, (place) => found.get(keyOf(place))?.filled),
        stillWaiting: calls.flatMap(({ call, filled }) => (call && !filled ? [call] : [])),
        resumed: calls.flatMap(({ call, filled }) => (call && filled ? [call] : [])),
      };
    },
  };
}

interface Found {
  /** `undefined` if it is not there any more, or is not the call of the message. */
  readonly call?: WaitingCall;
  /** `undefined` as long as it waits. */
  readonly filled?: FilledIn;
}

function keyOf({ id, toolCallId }: Placeholder): string {
  return JSON.stringify([id, toolCallId]);
}

async function findResult(
  calls: StoredCalls | undefined,
  tools: ToolSet,
  place: Placeholder,
): Promise<Found> {
  const waiting = await loadWaiting();
  const stored = await calls?.read(place.id);
  if (stored === undefined || !(await isCallOf(stored, place))) {
    return { filled: failedWith(waiting.goneCall()) };
  }
  const { call: record } = stored;
  const call = waiting.describeWaiting(record);
  if (record.state === "waiting" || record.state === "answering") return { call };
  const filled =
    record.answer === undefined
      ? failedWith(waiting.waitingFailure(record))
      : await replay(tools, place, scrubAnswer(record.answer, secretsOf(record, place)));
  await calls!.noteDelivered(stored);
  return { call, filled };
}

/** Messages come from browsers: whether the call in the message is the one that waited. */
async function isCallOf({ call }: StoredCall, { toolCallId, input }: Placeholder) {
  const { callDigest } = await loadWaiting();
  const { method, params } = call.request;
  const identity = { connection: call.connection, method, tool: String(params["name"]), input };
  return call.toolCallId === toolCallId && call.digest === (await callDigest(identity));
}

function secretsOf({ request }: StoredCall["call"], { input }: Placeholder): string[] {
  return providedTexts(request.params["arguments"], input);
}

/** As for any call: a server's error does not repeat what the application has supplied. */
function scrubAnswer(answer: WaitingAnswer, secrets: readonly string[]): WaitingAnswer {
  if (answer.error !== undefined) return { error: scrubResult(answer.error, secrets) };
  return answer.result["isError"] === true
    ? { result: scrubResult(answer.result, secrets) }
    : answer;
}

async function replay(
  tools: ToolSet,
  { toolName, toolCallId, input }: Placeholder,
  answer: WaitingAnswer,
): Promise<FilledIn> {
  const tool = Object.hasOwn(tools, toolName) ? tools[toolName] : undefined;
  const make = replayOf(tool);
  try {
    // The tools of a connection that is down are missing, and the answer is here all the same.
    const output = make ? await make(answer, { input, toolCallId }) : plain(answer);
    const use = { toolCallId, input, output };
    const modelOutput = (await tool?.toModelOutput?.(use)) ?? plainModelOutput(output);
    return { modelOutput, ui: { state: "output-available", output } };
  } catch (error) {
    return failedWith(error);
  }
}

function plain({ result, error }: WaitingAnswer): unknown {
  if (error !== undefined) throw new Error(error.message);
  return result;
}

function failedWith(error: unknown): FilledIn {
  const text = String(error);
  const message = error instanceof Error ? error.message : text;
  return {
    modelOutput: { type: "error-text", value: text },
    ui: { state: "output-error", errorText: message },
  };
}
