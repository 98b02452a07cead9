/** A stdio server that repeats all that it was given: `env`, its arguments, and those of a call, in any form. */
import { createInterface } from "node:readline";
import { escapedForms } from "./escaped-forms.ts";

const send = (message: object) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

const given = [...Object.values(process.env), ...process.argv.slice(2)].join("\n");
if (process.argv.includes("refuse")) {
  process.stderr.write(escapedForms(given));
  process.exitCode = 1;
} else {
  createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method, params } = JSON.parse(line);
    if (method === "initialize") {
      const { protocolVersion } = params;
      const serverInfo = { name: "echoing", version: "1.0.0" };
      send({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo } });
    } else if (method === "tools/list") {
      const names = ["fails", "throws"];
      const tools = names.map((name) => ({ name, inputSchema: { type: "object" } }));
      send({ id, result: { tools } });
    } else if (method === "tools/call") {
      const text = escapedForms(`${given}\n${JSON.stringify(params.arguments)}`);
      const { progressToken } = params["_meta"] ?? {};
      send({ method: "notifications/message", params: { level: "error", data: { [text]: text } } });
      if (progressToken !== undefined) {
        const progress = { progressToken, progress: 1, message: text };
        send({ method: "notifications/progress", params: progress });
      }
      const failed = { isError: true, content: [{ type: "text", text }] };
      const error = { code: -32000, message: text };
      send({ id, ...(params.name === "throws" ? { error } : { result: failed }) });
    }
  });
}
