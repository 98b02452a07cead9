import { expectTypeOf, test } from "vitest";
import type { ApplicationEvent, ConnectionEvent } from "../../src/index.ts";

test("an application hears of seventeen types, and all but warnings are a log's too", () => {
  type Type = ApplicationEvent["type"];
  expectTypeOf<Exclude<Type, ConnectionEvent["type"]>>().toEqualTypeOf<"warning">();
  expectTypeOf<Type>().toEqualTypeOf<
    | ("lost" | "restored" | "recovered" | "discarded" | "start-failed")
    | ("unavailable" | "authorization-required" | "tools-changed" | "notification" | "warning")
    | ("waiting-call" | "answer-unsure" | "conflict" | "not-ended" | "close-failed")
    | ("store-failed" | "ended-by-operator")
  >();
});
