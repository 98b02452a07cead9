import fc from "fast-check";
import { expect, test } from "vitest";
import * as z from "zod/mini";
import { sessionSnapshot } from "../../test/step.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import { asInitializeResult, parseSessionSnapshot } from "./session-snapshot.ts";

/** The format as a schema of a library: the second opinion on what the parser takes. */
const record = z.record(z.string(), z.unknown());
const common = {
  version: z.literal(1),
  url: z.string(),
  replacesLost: z.optional(z.literal(true)),
};
const initializeResult = z.looseObject({
  protocolVersion: z.string().check(
    z.regex(/^\d{4}-\d{2}-\d{2}$/),
    z.refine((value) => value < "2026-07-28"),
  ),
  capabilities: record,
  serverInfo: z.looseObject({ name: z.string(), version: z.string() }),
  instructions: z.optional(z.string()),
});
const toolList = z.strictObject({
  tools: z.array(z.looseObject({ name: z.string(), inputSchema: record })),
  listedAt: z.number(),
});
const standing = {
  subscriptions: z.optional(z.array(z.string())),
  logLevel: z.optional(z.string()),
};
const keptResult = z.strictObject({
  method: z.enum([
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
  ]),
  client: z.string(),
  cursor: z.optional(z.string()),
  result: record,
  receivedAt: z.number(),
  until: z.number(),
  scope: z.enum(["public", "private"]),
});
const snapshotSchema = z.discriminatedUnion("kind", [
  z.looseObject({
    ...common,
    kind: z.literal("session"),
    sessionId: z.string().check(z.regex(/^[\x21-\x7E]{1,1024}$/)),
    initializeResult,
    clientCapabilities: record,
    toolList: z.optional(toolList),
    refusedSince: z.optional(z.number()),
    namesVary: z.optional(z.literal(true)),
    startedAt: z.optional(z.number()),
    ...standing,
  }),
  z.looseObject({
    ...common,
    kind: z.literal("sessionless"),
    lost: z.optional(z.looseObject(standing)),
    initializeResult: z.optional(initializeResult),
    keptAt: z.optional(z.number()),
    toolList: z.optional(toolList),
    refusesProbe: z.optional(z.literal(true)),
    kept: z.optional(z.array(keptResult)),
  }),
  z.looseObject({
    ...common,
    kind: z.literal("stateless"),
    decidedAt: z.number(),
    kept: z.optional(z.array(keptResult)),
  }),
]);

const url = "https://mcp.example/mcp";
const keptPage = {
  ...{ method: "tools/list", client: "[]", cursor: "a", result: { tools: [] } },
  ...{ receivedAt: 1, until: 2, scope: "private" },
};
const right = [
  {
    ...sessionSnapshot(url),
    toolList: { tools: [{ name: "echo", inputSchema: {}, title: "Echo" }], listedAt: 1 },
    replacesLost: true,
    refusedSince: 1,
    namesVary: true,
    startedAt: 1,
    subscriptions: ["file:///a"],
    logLevel: "info",
  },
  {
    ...{ version: 1, kind: "sessionless", url },
    lost: { subscriptions: ["file:///a"], logLevel: "info" },
  },
  { version: 1, kind: "sessionless", url },
  {
    ...{ version: 1, kind: "sessionless", url, keptAt: 1 },
    initializeResult: sessionSnapshot(url).initializeResult,
    toolList: { tools: [{ name: "echo", inputSchema: {} }], listedAt: 1 },
  },
  { version: 1, kind: "stateless", url, decidedAt: 1 },
  { version: 1, kind: "stateless", url, decidedAt: 1, kept: [keptPage], replacesLost: true },
  {
    ...{ version: 1, kind: "sessionless", url, keptAt: 1, refusesProbe: true },
    ...{ initializeResult: sessionSnapshot(url).initializeResult, kept: [keptPage] },
  },
];

type Path = readonly (string | number)[];
type Fields = Record<string | number, unknown>;

function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, part]) => pathsOf(part, [...path, key]))];
}

function put(target: unknown, [key, ...rest]: Path, value: unknown): unknown {
  if (key === undefined) return value;
  const isList = Array.isArray(target) && key !== "length";
  const copy = (isList ? [...(target as unknown[])] : { ...Object(target) }) as Fields;
  const next = rest.length === 0 ? value : put(copy[key], rest, value);
  return Object.defineProperty(copy, key, { value: next, enumerable: true, configurable: true });
}

/** Words that mean something to an object, and words that the format knows. */
const word = fc.constantFrom(
  ...["toString", "constructor", "hasOwnProperty", "valueOf", "__proto__", "length", "0"],
  ...["kind", "session", "stateless", "version", "url", "tools", "name", "toolList?", "?", ""],
  ...["2025-11-25", "2026-07-27", "2026-07-28", "2025-11-25\n", "a b"],
);
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom(undefined, null, true, false, 0, 1, -1, 1.5, Number.NaN, {}, []),
    word,
    fc.array(tie("json"), { maxLength: 3 }),
    fc.dictionary(word, tie("json"), { maxKeys: 3 }),
  ),
}));

const snapshotWithAWrongPart = fc.constantFrom(...right).chain((base) =>
  fc
    .array(fc.tuple(fc.constantFrom(...pathsOf(base)), fc.option(word, { nil: undefined }), json), {
      maxLength: 2,
    })
    .map((changes) =>
      changes.reduce<unknown>((snapshot, [path, key, value]) => {
        const place = key === undefined ? path : [...path, key];
        return put(snapshot, place, value);
      }, base),
    ),
);

function fieldOf(value: unknown): unknown {
  try {
    parseSessionSnapshot(value);
  } catch (error) {
    return McpSessionError.isInstance(error) ? error.data.field : error;
  }
  return undefined;
}

function at(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((part, key) => (part as Fields)[key], value);
}

/** A list has no named fields: zod names the first one that it misses there, and the parser the list. */
function expectedField(value: unknown): string | undefined {
  const path = z.safeParse(snapshotSchema, value).error?.issues[0]?.path as Path | undefined;
  const isInList = (key: string | number, index: number) =>
    typeof key === "string" && Array.isArray(at(value, path!.slice(0, index)));
  const end = path?.findIndex(isInList) ?? -1;
  return path && ((end < 0 ? path : path.slice(0, end)).join(".") || "the snapshot");
}

test("takes and refuses what a schema of zod does, and names the same field", () => {
  const seen = { right: 0, wrong: 0 };
  fc.assert(
    fc.property(snapshotWithAWrongPart, (changed) => {
      const value = JSON.parse(JSON.stringify(changed ?? null)) as unknown;
      // Those are refused before, at any depth.
      fc.pre(!pathsOf(value).flat().includes("__proto__"));
      const expected = expectedField(value);
      seen[expected === undefined ? "right" : "wrong"] += 1;
      expect(fieldOf(value)).toEqual(expected);
    }),
    { numRuns: 2000 },
  );
  expect(Math.min(seen.right, seen.wrong)).toBeGreaterThan(200);
});

test("takes and refuses results of initialize as a schema of zod does", () => {
  fc.assert(
    fc.property(snapshotWithAWrongPart, (changed) => {
      const { initializeResult: value } = Object(changed) as Fields;
      const isRight = z.safeParse(initializeResult, value).success;
      expect(asInitializeResult(value)).toBe(isRight ? value : undefined);
    }),
    { numRuns: 1000 },
  );
});
