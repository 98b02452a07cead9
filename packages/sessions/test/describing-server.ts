/**
 * A stdio server without an SDK, so that it starts fast. Its tool tells how the server was started, and by whom.
 * With the argument "exit" it ends after its first call, and with "hang" it says that it got one,
 * and answers none. With "modern" it speaks the revision of 2026-07-28 alone. With "two" its tool has two names.
 */
import { createInterface } from "node:readline";

let clientInfo: unknown;

const results: Record<string, (params: any) => object> = {
  initialize: (params) => {
    clientInfo = params.clientInfo;
    const { protocolVersion } = params;
    const serverInfo = { name: "describing", version: "1.0.0" };
    return { protocolVersion, capabilities: { tools: {} }, serverInfo };
  },
  "tools/list": () => ({
    tools: ["describe", ...(process.argv.includes("two") ? ["other"] : [])].map((name) => ({
      name,
      inputSchema: { type: "object" },
    })),
  }),
  "tools/call": (params) => {
    const progressToken = params["_meta"]?.progressToken;
    if (progressToken !== undefined) {
      const method = "notifications/progress";
      send({ method, params: { progressToken, progress: 1 } });
    }
    const { DESCRIBED } = process.env;
    const text = JSON.stringify({
      clientInfo,
      args: process.argv.slice(2),
      env: { DESCRIBED },
      cwd: process.cwd(),
      pid: process.pid,
      input: params.arguments,
    });
    return { content: [{ type: "text", text }] };
  },
};

const isModern = process.argv.includes("modern");
if (isModern) {
  results["server/discover"] = () => ({
    ...{ supportedVersions: ["2026-07-28"], capabilities: { tools: {} } },
    serverInfo: { name: "describing", version: "1.0.0" },
  });
}

const send = (message: object, sent?: () => void) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`, sent);

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (method === "tools/call" && process.argv.includes("hang")) {
    send({ method: "notifications/message", params: { level: "info", data: "" } });
    return;
  }
  const answer = results[method];
  const isRefused = isModern && method === "initialize";
  const outcome =
    answer && !isRefused
      ? { result: { ...(isModern && { resultType: "complete" }), ...answer(params) } }
      : { error: { code: isRefused ? -32022 : -32601, message: "Not here" } };
  send({ id, ...outcome }, () => {
    if (method === "tools/call" && process.argv.includes("exit")) process.exit();
  });
});
