/**
 * In place of a client that the suite starts: `relay-program.ts <port> <url>` has the scenario run in the
 * process that listens on that port of 127.0.0.1, and ends with 0 when that went well.
 */
import { request } from "node:http";

const [port, url] = process.argv.slice(2);
const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";
const context: unknown = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}");

const call = request({ host: "127.0.0.1", port, method: "POST" }, (response) => {
  process.exitCode = response.statusCode === 200 ? 0 : 1;
  response.pipe(process.stderr);
});
call.end(JSON.stringify({ scenario, context, url }));
