import { isPrintable, isRecord } from "../base/json-values.ts";
import { beginCall, createCall, findTurn, upToDate } from "./current-call.ts";
import type { WaitingContext } from "./waiting-context.ts";
import { isKeepable } from "./waiting-life.ts";
import type { WaitingRecord } from "./waiting-record.ts";

/** A tool call that only goes on when the user has signed in. */
interface ParkedCall {
  readonly connection: string;
  readonly url: URL;
  readonly tool: string;
  /** The tool's, as the server had listed it. Kept if they are an object. */
  readonly annotations?: unknown;
  /** The input as the model gave it. What the application adds to it is not kept. */
  readonly input: unknown;
  readonly toolCallId: string;
  /** The tool calls of agents around it, the root's first. @default none */
  readonly path?: WaitingRecord["path"] | undefined;
  /** Whether it is the call of a stand-in for the connection's tools, which is never sent. @default false */
  readonly isStandIn?: boolean | undefined;
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
  { connection, url, tool, annotations, input = {}, isStandIn = false, ...own }: ParkedCall,
): Promise<WaitingRecord | undefined> {
  if (!isPrintable(input)) return undefined;
  const method = "tools/call";
  // A tool's schema may make other values of the model's, such as dates.
  const args = JSON.parse(JSON.stringify(input)) as unknown;
  // A server may have a tool of the stand-in's name.
  const scope = isStandIn ? "stand-in" : undefined;
  const { toolCallId, path } = own;
  const identity = { connection, method, tool, input: args, toolCallId, path, scope };
  const request = { method, params: { name: tool, arguments: args }, headers: {} } as const;
  const parked: WaitingRecord = {
    ...(await beginCall(context, "authorization", identity, { url, request })),
    ...(isStandIn && { isStandIn }),
    ...(isRecord(annotations) && { annotations }),
  };
  if (!isKeepable(parked)) return undefined;
  const { stored } = await findTurn(context, identity, async (id) =>
    createCall(context, { ...parked, id }),
  );
  return (await upToDate(context, stored)).call;
}
