import { type ToolResultName, toolResults } from "./tool-results.ts";

export type Framing = "json" | "sse";
export const framings: readonly Framing[] = ["json", "sse"];

const contentTypes = { json: "application/json", sse: "text/event-stream" } as const;

/** An answer of `size` bytes, whole but for the id. */
export interface AnswerTemplate {
  readonly contentType: string;
  readonly withId: (id: unknown) => Buffer;
}

/** An answer as the official TypeScript SDK's servers print it: the id comes last. */
export function createAnswerTemplate(
  framing: Framing,
  result: ToolResultName,
  size: number,
): AnswerTemplate {
  const message = JSON.stringify({ result: toolResults[result](size), jsonrpc: "2.0" });
  const head = framing === "sse" ? "event: message\nid: 5f1c9d0e_17\ndata: " : "";
  const tail = framing === "sse" ? "\n\n" : "";
  const before = Buffer.from(`${head}${message.slice(0, -1)},"id":`);
  return {
    contentType: contentTypes[framing],
    withId: (id) => Buffer.concat([before, Buffer.from(`${JSON.stringify(id)}}${tail}`)]),
  };
}
