import type { Dictation } from "./streaming-application.ts";

/** What the service tells an execution environment: its variables, then one invocation after another. */
export type ToEnvironment =
  | { readonly type: "start"; readonly url: string; readonly path: string }
  | { readonly type: "invoke"; readonly event: { readonly body: string } };

/** The streamed answer, sent when the handler's promise has settled: from then on the environment may be frozen. */
export interface FromEnvironment {
  readonly statusCode: number | undefined;
  readonly body: string;
  readonly error?: string | undefined;
}

export function invocation(dictation: Dictation): ToEnvironment {
  return { type: "invoke", event: { body: JSON.stringify(dictation) } };
}
