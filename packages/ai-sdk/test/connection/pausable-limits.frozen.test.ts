import { expect, test } from "vitest";
import {
  limitMs,
  startAnsweringServer,
  startFrozenProgram,
} from "../../../core/test/frozen-process.ts";

const program = new URL("../frozen-step-program.ts", import.meta.url);
const methods = ["initialize", "tools/call"] as const;

test.each(["stateful", "stateless"] as const)(
  "a step goes on that stood still until its limits were over, and so does the next: %s",
  async (session) => {
    const printed = await Promise.all(
      methods.map(async (method) => {
        const server = { protocol: "https", method } as const;
        const url = await startAnsweringServer(server, (send) => {
          void frozen.freeze(send);
        });
        const frozen = startFrozenProgram(program, url, String(limitMs), session);
        return `${method}: ${await frozen.printed}`;
      }),
    );
    const all = "first answered\nsecond answered\n";
    expect(printed).toEqual(methods.map((method) => `${method}: ${all}`));
  },
);
