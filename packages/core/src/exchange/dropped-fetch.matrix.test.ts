import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startMcpServer } from "../../test/mcp-server.ts";
import { saveSession } from "../../test/step.ts";

const core = fileURLToPath(new URL("../index.ts", import.meta.url));

const program = `
import { createSessionFetch, createSessionSlot } from ${JSON.stringify(core)};
const [url, snapshot] = process.argv.slice(1);
const fetch = createSessionFetch({ url, slot: createSessionSlot(JSON.parse(snapshot)) });
const call = { jsonrpc: "2.0", id: 0, method: "tools/call", params: { name: "echo", arguments: {} } };
const response = await fetch(url, {
  method: "POST",
  headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
  body: JSON.stringify(call),
});
console.log((await response.text()).includes("result"));
`;

test("a process ends after its last call, although the call had five minutes", async () => {
  const server = await startMcpServer();
  const snapshot = JSON.stringify(await saveSession(server));
  const node = ["--input-type=module", "--disable-warning=ExperimentalWarning", "--eval", program];
  const options = { timeout: 20_000 };
  const running = promisify(execFile)(process.execPath, [...node, server.url, snapshot], options);
  expect((await running).stdout.trim()).toBe("true");
});
