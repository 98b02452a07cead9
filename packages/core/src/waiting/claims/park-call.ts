import { invalid } from "../../base/check-option.ts";
import { isPrintable, isRecord } from "../../base/json-values.ts";
import { beginCall, type CallIdentity, findTurn, isNamed, upToDate } from "./current-call.ts";
import { createOnce, insist } from "./keep-call.ts";
import { tooLongToWait } from "../record/waiting-failure.ts";
import { tellWaiting, type WaitingContext } from "./waiting-context.ts";
import { isKeepable, waitsOn } from "../record/waiting-life.ts";
import {
  type AgentCall,
  type CallOfStep,
  commonOf,
  type OpenCall,
  type ParkedCall,
  type WaitingRecord,
} from "../record/waiting-record.ts";
import type { CreationTries } from "../record/waiting-store.ts";

/** A tool call that only goes on when the user has signed in. */
interface LockedCall {
  readonly connection: string;
  readonly url: URL;
  readonly tool: string;
  /** The tool's, as the server had listed it. Kept if they are an object. */
  readonly annotations?: unknown;
  /** The arguments. What the application supplies in place of the model is not kept. */
  readonly input: unknown;
  /** The input as the model gave it, if hooks have changed it since. @default `input` */
  readonly modelInput?: unknown;
  readonly toolCallId?: string | undefined;
  /** The named or shared session in which it was made. @default another one */
  readonly session?: ParkedCall["session"];
  /** The tool calls of agents around it, the root's first. @default none */
  readonly path?: WaitingRecord["path"] | undefined;
  /** What else tells the call apart, such as the task of a graph that runs again. @default nothing */
  readonly scope?: string | undefined;
  /** Whether it is the call of a stand-in for the connection's tools, which is never sent. @default false */
  readonly isStandIn?: boolean | undefined;
}

function identityOf(call: Omit<LockedCall, "url">): CallIdentity {
  const { connection, tool, input = {}, modelInput = input, toolCallId, path, isStandIn } = call;
  // A server may have a tool of the stand-in's name.
  const scope = isStandIn ? `stand-in ${call.scope ?? ""}`.trim() : call.scope;
  return { connection, method: "tools/call", tool, input: modelInput, toolCallId, path, scope };
}

/**
 * Keeps a tool call until its user has signed in: one write. The same call, made again by a step that is run again,
 * finds its record.
 *
 * @returns the record; `undefined` for an input that is too long to be kept
 * @throws {McpSessionError} `STORE_FAILED`
 */
export async function parkCall(
  context: WaitingContext,
  { url, annotations, session = {}, isStandIn = false, ...call }: LockedCall,
): Promise<WaitingRecord | undefined> {
  const { tool, input = {} } = call;
  const identity = identityOf({ ...call, isStandIn });
  return await keepOnce(context, identity, { url, tool, input }, (begun) => ({
    ...commonOf(begun),
    ...{ type: "call-waits-for-sign-in", state: "waiting" },
    ...(isStandIn && { isStandIn }),
    ...(Object.keys(session).length > 0 && { session }),
    ...(isRecord(annotations) && { annotations }),
  }));
}

/** What a tool call waits for, in which agents run. */
export interface AgentsWaiting {
  /** The messages of each agent that began in the call; empty if the application keeps them. */
  readonly histories: AgentCall["histories"];
  /** The ids of the calls that wait in them. */
  readonly waitsFor: string[];
}

/**
 * Keeps a tool call of the application's while calls of agents in it wait, as `parkCall` does.
 *
 * @param call.connection of the first call for which it waits
 * @throws {McpSessionError} `CONNECTION_INVALID` for messages that are too long to be kept; `STORE_FAILED`
 */
export async function keepAgentCall(
  context: WaitingContext,
  { connection, url, tool, input = {}, toolCallId, path, ...waiting }: LockedCall & AgentsWaiting,
): Promise<WaitingRecord> {
  const identity = { input, toolCallId, path, scope: "agent" };
  const kept = await keepOnce(context, identity, { url, tool, input }, (begun) =>
    isPrintable(waiting.histories) ? waitsOn({ ...begun, connection }, waiting) : undefined,
  );
  if (kept === undefined) throw invalid(`tools.${tool}`, tooLongToWait);
  return kept;
}

/** Keeps a call that is not sent. @param complete adds to the record; `undefined` for what cannot be kept */
async function keepOnce(
  context: WaitingContext,
  identity: CallIdentity,
  { url, tool, input }: Pick<LockedCall, "url" | "tool" | "input">,
  complete: (begun: CallOfStep) => OpenCall | undefined,
): Promise<WaitingRecord | undefined> {
  if (!isPrintable([input, identity.input])) return undefined;
  // A tool's schema may make other values of the model's, such as dates.
  const args = JSON.parse(JSON.stringify(input)) as unknown;
  const params = { name: tool, arguments: args };
  const request = { method: "tools/call", params, headers: {} } as const;
  const kept = complete(await beginCall(context, identity, { url, request }));
  if (kept === undefined || !isKeepable(kept, context.limits.maxBytes)) return undefined;
  let isNew = false;
  const tries = new Map<string, CreationTries>();
  const find = async () => {
    const { stored } = await findTurn(context, identity, (id) => {
      const own = tries.get(id) ?? {};
      tries.set(id, own);
      return createOnce(context.calls, { ...kept, id }, own);
    });
    isNew = stored.call.leg === kept.leg;
    return isNew ? stored.call : (await upToDate(context, stored)).call;
  };
  // Calls of agents in a tool call were sent.
  const found = await insist(context, kept, find, kept.type === "sub-agent" ? "sent" : "refused");
  if (isNew) await tellWaiting(context, found);
  return found;
}

/**
 * Finds a call that an earlier run of its graph has kept until its user has signed in. One that was asked something
 * since is found by its client's fetch.
 *
 * @throws {McpSessionError} `STORE_FAILED`
 */
export async function findParked(
  context: WaitingContext,
  call: Omit<LockedCall, "url">,
): Promise<WaitingRecord | undefined> {
  const identity = identityOf(call);
  if (!isNamed(identity) || !isPrintable(identity.input)) return undefined;
  const { stored } = await findTurn(context, identity, (id) => context.calls.read(id));
  if (stored?.call.type !== "call-waits-for-sign-in") return undefined;
  return (await upToDate(context, stored)).call;
}
