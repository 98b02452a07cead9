import { isRecord } from "@durable-mcp/core/internal";
import * as z from "zod/mini";
import type { Answer } from "../base/mcp-types.ts";
import type { AskedQuestion } from "../records/stored-question.ts";
import type { CheckContent } from "./legacy-shim.ts";

/** A client's result, or why it cannot be used. */
export interface ReadAnswer {
  readonly answer: Record<string, unknown>;
  readonly failure?: string | undefined;
}

const schemas: Readonly<Record<string, z.ZodMiniType>> = {
  "elicitation/create": z.looseObject({
    action: z.enum(["accept", "decline", "cancel"]),
    content: z.optional(z.nullable(z.record(z.string(), z.unknown()))),
  }),
  "sampling/createMessage": z.looseObject({
    role: z.enum(["user", "assistant"]),
    content: z.union([z.looseObject({}), z.array(z.looseObject({}))]),
    model: z.string(),
  }),
  "roots/list": z.looseObject({ roots: z.array(z.looseObject({ uri: z.string() })) }),
};

/** Checks an answer of a client. SDK v2's shim ends a call in the same words. */
export function readAnswer(
  { method: kind, params }: AskedQuestion,
  method: string,
  message: Answer,
  check: CheckContent | undefined,
): ReadAnswer {
  const failed = (why: string) => ({
    answer: {},
    failure: `Fulfilling input required by '${method}' failed: ${why}`,
  });
  if ("error" in message) return failed(message.error.message);
  const { result } = message;
  if (!z.safeParse(schemas[kind]!, result).success) return failed(`Invalid result for ${kind}`);
  const schema = params?.["requestedSchema"];
  if (result["action"] !== "accept" || !isRecord(schema) || !check) return { answer: result };
  const wrong = check(schema, result["content"] ?? {});
  if (wrong === undefined) return { answer: result };
  return failed(`Elicitation response content does not match requested schema: ${wrong}`);
}
