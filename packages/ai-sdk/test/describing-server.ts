/** A stdio server without an SDK, so that it starts fast. Its tool tells how the server was started, and by whom. */
import { createInterface } from "node:readline";

let clientInfo: unknown;

const results: Record<string, (params: any) => object> = {
  initialize: (params) => {
    clientInfo = params.clientInfo;
    const { protocolVersion } = params;
    const serverInfo = { name: "describing", version: "1.0.0" };
    return { protocolVersion, capabilities: { tools: {} }, serverInfo };
  },
  "tools/list": () => ({ tools: [{ name: "describe", inputSchema: { type: "object" } }] }),
  "tools/call": () => {
    const { DESCRIBED } = process.env;
    const text = JSON.stringify({
      clientInfo,
      args: process.argv.slice(2),
      env: { DESCRIBED },
      cwd: process.cwd(),
    });
    return { content: [{ type: "text", text }] };
  },
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = results[method];
  const outcome = answer
    ? { result: answer(params) }
    : { error: { code: -32601, message: "Method not found" } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...outcome })}\n`);
});
