/** What a client sends in JSON-RPC. */
export interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: any;
}

/** @returns `{}` for what is no message */
export function parseMessage(body: string): Message {
  try {
    return (JSON.parse(body) ?? {}) as Message;
  } catch {
    return {};
  }
}

/** The tool of a `tools/call`. */
export function toolOf({ method, params }: Message): string | undefined {
  return method === "tools/call" ? params?.name : undefined;
}
