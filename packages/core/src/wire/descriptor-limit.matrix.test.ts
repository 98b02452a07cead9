import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startHttpServer } from "../../test/http-server.ts";
import { sendResult } from "../../test/mcp-server.ts";

const program = fileURLToPath(new URL("../../test/descriptor-limit-program.ts", import.meta.url));
const node = `"${process.execPath}" --experimental-strip-types --no-warnings "${program}"`;

test.skipIf(process.platform === "win32")(
  "in a process without descriptors each call is answered, or said to be unsent",
  { timeout: 60_000 },
  async () => {
    const server = await startHttpServer(({ message }, response) => {
      setTimeout(() => sendResult(response, message.id, {}), 500);
    });
    const limited = `ulimit -n 60; exec ${node} ${server.origin}/mcp 300`;
    const { stdout } = await promisify(execFile)("bash", ["-c", limited]);
    const outcomes = JSON.parse(stdout) as Record<string, number>;
    console.log(`${server.requests.length} of 300 calls arrived:`, outcomes);
    const { answered = 0, ["CONNECTION_UNAVAILABLE resources"]: unsent = 0 } = outcomes;
    expect(unsent).toBeGreaterThan(100);
    expect([answered, answered + unsent]).toEqual([server.requests.length, 300]);
  },
);
