import { expect, test } from "vitest";
import { limitMs, startAnsweringServer, startFrozenProgram } from "../../test/frozen-process.ts";

const program = new URL("../../test/frozen-program.ts", import.meta.url);
const methods = ["initialize", "notifications/initialized", "tools/call", "store/get"] as const;

test.each(["http", "https"] as const)(
  "an answer that arrived over %s while the process stood still for longer than its limit is read",
  async (protocol) => {
    const printed = await Promise.all(
      methods.map(async (method) => {
        const url = await startAnsweringServer({ protocol, method }, (send) => {
          void frozen.freeze(send);
        });
        const frozen = startFrozenProgram(program, url, String(limitMs));
        return `${method}: ${await frozen.printed}`;
      }),
    );
    expect(printed).toEqual(methods.map((method) => `${method}: all answered\n`));
  },
);
