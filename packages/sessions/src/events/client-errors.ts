import type { McpClient } from "../base/mcp-client.ts";

/** The use of a client that failed. */
interface FailedRequest {
  /** The JSON-RPC method of a tool call. Other requests change nothing on the server. */
  readonly method?: "tools/call" | undefined;
  /** Whether the caller's signal ended it. */
  readonly isAborted?: boolean | undefined;
  /** Whether a client that is connected has failed, so that the request may have been sent. */
  readonly isBegun?: boolean | undefined;
}

export type RestoreError = (error: unknown, request?: FailedRequest) => unknown;

/** Has a person do what a refusal asks for. @returns whether the refused request goes out once more */
type AnswerRefusal = (error: unknown) => Promise<boolean>;

/** Tools that a client makes of those of its server, by name. */
export type ClientTools = Readonly<
  Record<
    string,
    {
      /** Calls the tool, with what the client's package hands it. */
      execute?: (...args: any[]) => PromiseLike<unknown>;
    }
  >
>;

/**
 * The client with the errors that `restore` makes of its own, those of its tools among them.
 *
 * @param secrets are in no result of a tool that failed
 * @param answer asked once for each request, with the client's own error
 */
export function withSessionErrors<CLIENT extends McpClient>(
  client: CLIENT,
  restore: RestoreError,
  secrets?: { readonly scrubResult: <RESULT>(result: RESULT) => RESULT },
  answer?: AnswerRefusal,
): CLIENT {
  const restoring = async <T>(
    result: PromiseLike<T>,
    args: readonly unknown[],
    method?: FailedRequest["method"],
    again?: () => PromiseLike<T>,
  ): Promise<T> => {
    try {
      const given = await result;
      return secrets && method ? secrets.scrubResult(given) : given;
    } catch (error) {
      if (again && (await answer?.(error))) return await restoring(again(), args, method);
      throw restore(error, { method, isAborted: args.some(isAborted), isBegun: true });
    }
  };

  const restoreTools = (tools: ClientTools): ClientTools => {
    const entries = Object.entries(tools).map(([name, tool]) => {
      const { execute: call } = tool;
      if (call === undefined) return [name, tool] as const;
      const execute = async (...args: unknown[]) =>
        await restoring(call(...args), args, "tools/call", () => call(...args));
      return [name, { ...tool, execute }] as const;
    });
    return Object.fromEntries(entries);
  };

  return new Proxy(client, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        const result: unknown = value.apply(target, args);
        if (key === "toolsFromDefinitions") return restoreTools(result as ClientTools);
        if (!(result instanceof Promise)) return result;
        const method = key === "callTool" ? "tools/call" : undefined;
        const again = () => value.apply(target, args) as Promise<unknown>;
        const restored = restoring(result, args, method, again);
        return key === "tools"
          ? restored.then((tools) => restoreTools(tools as ClientTools))
          : restored;
      };
    },
  });
}

/** The client with some methods of its own. */
export function withOwnMethods<CLIENT extends object>(
  client: CLIENT,
  own: Partial<CLIENT>,
): CLIENT {
  return new Proxy(client, {
    get(target, key) {
      const owner = Object.hasOwn(own, key) ? own : target;
      return Reflect.get(owner, key, owner) as unknown;
    },
  });
}

/** Whether an argument has a signal that aborted: of `@ai-sdk/mcp`'s methods, or of a tool's `execute`. */
function isAborted(argument: unknown): boolean {
  const { signal, abortSignal, options } = (argument ?? {}) as Record<string, unknown>;
  const signals = [
    signal,
    abortSignal,
    (options as { signal?: unknown } | null | undefined)?.signal,
  ];
  return signals.some((each) => (each as AbortSignal | undefined)?.aborted === true);
}
