import type { JsonValue, SessionStore, StoreBatchWrite } from "@durable-mcp/core";
import * as z from "zod/mini";
import type { HandlerSettings } from "../base/settings.ts";
import type { CallHold } from "./replica.ts";
import { storeKey, storeKeyPrefix } from "./store-key.ts";

const object = z.record(z.string(), z.unknown());

const schema = z.object({
  version: z.literal(1),
  writer: z.optional(z.string()),
  /** The request of the client, which is made again with the answers. */
  requestId: z.union([z.string(), z.number()]),
  method: z.string(),
  params: object,
  requestState: z.optional(z.string()),
  /** How often the call has asked, from 1. */
  round: z.number(),
  /** The last place in the call's answer stream, and how many parts of the stream were stored. */
  place: z.number(),
  parts: z.number(),
  questions: z.array(
    z.object({
      key: z.string(),
      method: z.string(),
      params: z.optional(object),
      /** The client's result. */
      answer: z.optional(object),
    }),
  ),
  /** When nobody waits any more, in milliseconds since 1970-01-01 UTC. */
  until: z.number(),
  /** The process that has claimed the call, and its lease's renewals by then. */
  claimed: z.optional(z.object({ replica: z.string(), renewals: z.number() })),
});

/** A call that has asked its client, as it is stored: one record for each time that it asks. */
export type QuestionRecord = z.infer<typeof schema>;

/** A question of a call, with its answer when it has one. */
export type AskedQuestion = QuestionRecord["questions"][number];

/** `undefined` for a value of another version of this package, or of another program. */
export function parseQuestionRecord(value: unknown): QuestionRecord | undefined {
  return z.safeParse(schema, value).success ? (value as QuestionRecord) : undefined;
}

/** A call whose client has answered, and that this process alone may make again. */
export interface ClaimedCall {
  /** Its name in its session. */
  readonly call: string;
  /** With the answers. */
  readonly record: QuestionRecord;
  readonly hold: CallHold;
  /** An answer that cannot be used: the call ends with it, and its handler does not run. */
  readonly failure?: string | undefined;
}

type QuestionContext = { readonly store: SessionStore; readonly settings: HandlerSettings };

/** @param hash of the session @param call its name in the session */
export function questionKey(
  { settings }: Pick<QuestionContext, "settings">,
  hash: string,
  call: string,
  round: number,
): string {
  return storeKey(settings.name, "question", hash, call, String(round));
}

export function newQuestionRow(
  context: QuestionContext,
  { hash, call, owner }: { hash: string; call: string; owner: string },
  record: QuestionRecord,
): StoreBatchWrite {
  return {
    ...{ type: "put", key: questionKey(context, hash, call, record.round), ifRevision: null },
    ...{ value: record as unknown as JsonValue, owner, expiresAt: record.until },
  };
}

/** The newest question of a call. A store without transactions may still have the one before. */
export async function findQuestion(
  { store, settings }: QuestionContext,
  hash: string,
  call: string,
): Promise<QuestionRecord | undefined> {
  const prefix = storeKeyPrefix(settings.name, "question", hash, call);
  const { records } = await store.list({ prefix, limit: 10 });
  return records
    .flatMap(({ value }) => parseQuestionRecord(value) ?? [])
    .toSorted((a, b) => b.round - a.round)[0];
}
