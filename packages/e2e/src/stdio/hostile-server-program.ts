/**
 * An MCP server on stdio without an SDK, which writes the lines that it is told to.
 *
 *     node hostile-server-program.ts [<a broken answer to initialize> | refuse:<text> | version:<text>]
 */
import { createInterface } from "node:readline";
import { brokenAnswers, strayLines } from "./hostile-lines.ts";

const [handshake = ""] = process.argv.slice(2);
const [mannerOfHandshake, said] = handshake.split(":");

interface Request {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly name: string; readonly arguments: Record<string, unknown> };
}

const write = (line: string | Buffer) => {
  process.stdout.write(line);
  process.stdout.write("\n");
};
const names = ["answer_broken", "echo_between", "refuse"];

createInterface(process.stdin).on("line", (line) => {
  const { id, method: asked, params } = JSON.parse(line) as Request;
  if (id === undefined) return;
  const answer = (result: object) => write(JSON.stringify({ jsonrpc: "2.0", id, result }));
  const refuse = (message: unknown, data: unknown) =>
    write(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32000, message, data } }));
  const say = (text: unknown) => answer({ content: [{ type: "text", text }] });
  if (asked === "initialize") {
    if (handshake in brokenAnswers) return write(brokenAnswers[handshake]!(String(id)));
    if (mannerOfHandshake === "refuse") return refuse(`Not with ${said}.`, { said });
    return answer({
      protocolVersion: said ?? "2025-11-25",
      capabilities: { tools: {} },
      serverInfo: { name: "hostile", version: "1" },
    });
  }
  if (asked === "tools/list") {
    const inputSchema = { type: "object" };
    return answer({ tools: names.map((name) => ({ name, inputSchema })) });
  }
  const { name, arguments: input } = params!;
  if (name === "answer_broken") {
    return write(brokenAnswers[String(input["kind"])]!(String(id)));
  }
  if (name === "echo_between") {
    const { notify: news, strays = [] } = input as { notify?: object; strays?: string[][] };
    const method = "notifications/message";
    if (news) write(JSON.stringify({ jsonrpc: "2.0", method, params: news }));
    const [before = [], after = []] = strays;
    for (const kind of before) write(strayLines[kind]!);
    say(input["text"]);
    for (const kind of after) write(strayLines[kind]!);
    return undefined;
  }
  if (name === "refuse") {
    return refuse(input["message"], input["data"]);
  }
  return undefined;
});
