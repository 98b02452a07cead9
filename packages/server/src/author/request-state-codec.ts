import { McpSessionError, type Principal } from "@durable-mcp/core";
import { invalidOption, isRecord, textDigest } from "@durable-mcp/core/internal";
import { type SealingKeys, sealState, unsealState } from "@durable-mcp/core/sealing";
import type { HandlerSettings } from "../base/settings.ts";
import type { JSONRPCRequest } from "../base/mcp-types.ts";

/**
 * Seals the `requestState` of `inputRequired(…)`, for `new McpServer(about, { requestState })` of SDK v2. A state
 * counts for the same principal, method, name or URI and arguments, for `timeouts.questionMs`. Its client cannot
 * read it, but can send it twice: make an id in the first leg, keep it in the state, and do the work once for each id.
 */
export interface RequestStateCodec {
  /**
   * A text for `inputRequired({ requestState })`, in the handler that asks.
   * @param value JSON, which `ctx.mcpReq.requestState()` returns when the client has answered
   * @throws {McpSessionError} `STATE_INVALID` for what is not JSON, and if the sealed text has more than 1,000,000
   *   characters
   * @throws {Error} outside of a request's handler
   */
  mint(this: void, value: unknown): Promise<string>;
  /**
   * SDK v2 calls it, and answers −32602 when it rejects.
   * @returns the value
   */
  verify(this: void, state: string): Promise<unknown>;
}

interface CodecOptions {
  readonly settings: HandlerSettings;
  readonly keys: SealingKeys | undefined;
  readonly principal: Principal;
  /** The request in whose handler the code runs. */
  readonly running: () => JSONRPCRequest | undefined;
}

/** Adds `requestState` to what `createServer` gets. Without keys whoever reads it is told what is missing. */
export function withRequestState<Context extends object>(
  context: Context,
  options: CodecOptions,
): Context & { readonly requestState: RequestStateCodec } {
  const { keys } = options;
  const codec = keys && createCodec({ ...options, keys });
  return Object.defineProperty(context, "requestState", {
    enumerable: codec !== undefined,
    get: () => {
      if (codec) return codec;
      throw invalidOption("keys", "must be given to createSessionHandler, for requestState");
    },
  }) as never;
}

function createCodec({
  settings,
  keys,
  principal,
  running,
}: CodecOptions & { readonly keys: SealingKeys }): RequestStateCodec {
  const { now, timeouts } = settings;
  const options = async () => {
    const request = running();
    if (!request) throw new Error("requestState is for the handlers of requests.");
    const sessionId = `request ${await textDigest(printed(settings.name, request))}`;
    return { keys, principal, now, sessionId };
  };
  return {
    mint: async (value) => {
      const expiresInMs = timeouts.questionMs;
      // In an object: a state may be any JSON.
      const { sealed } = await sealState({ value }, { ...(await options()), expiresInMs });
      if (sealed !== undefined) return sealed;
      const fix = "keep the value in session.state, and an id in the requestState";
      throw new McpSessionError("STATE_INVALID", `The requestState is too large: ${fix}.`, {
        data: { field: "requestState" },
      });
    },
    verify: async (state) => {
      const opened = await unsealState(state, await options());
      if (isRecord(opened.state)) return opened.state["value"];
      throw new Error(`The requestState cannot be used: ${opened.reason ?? "it is empty"}.`);
    },
  };
}

/** What a state is bound to. The order of an object's fields is nothing. */
function printed(name: string, { method, params = {} }: JSONRPCRequest): string {
  const { name: called, uri, arguments: given } = params;
  return JSON.stringify(
    [name, method, called ?? uri ?? null, given ?? {}],
    (_key, value: unknown) =>
      isRecord(value)
        ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
        : value,
  );
}
