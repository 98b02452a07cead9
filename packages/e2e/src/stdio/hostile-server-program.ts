/**
 * An MCP server on stdio without an SDK, which writes the lines that it is told to.
 *
 *     node hostile-server-program.ts [<a broken answer to initialize> | refuse:<text> | version:<text>]
 */
import { spawn } from "node:child_process";
import { closeSync } from "node:fs";
import { createInterface } from "node:readline";
import { brokenAnswers, strayLines } from "./hostile-lines.ts";

const [handshake = ""] = process.argv.slice(2);
const [mannerOfHandshake, said] = handshake.split(":");

interface Request {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly name: string; readonly arguments: Record<string, unknown> };
}

const write = (line: string | Buffer) => {
  process.stdout.write(line);
  process.stdout.write("\n");
};
const ping = (id: number) => `{"jsonrpc":"2.0","id":${id},"method":"ping"}\n`;

/** What it can do beside answering. A text is the answer. */
const acts: Record<string, (input: Record<string, unknown>) => string | undefined> = {
  ask_often(input) {
    process.stdout.write(
      Array.from({ length: Number(input["times"]) }, (_, id) => ping(id)).join(""),
    );
    return "asked";
  },
  close_stdin: () => {
    closeSync(0);
    return "closed";
  },
  close_stdout() {
    closeSync(1);
    return undefined;
  },
  /** Ends, and leaves a process with its stdout that nothing leads to. */
  end_and_leave({ seconds }) {
    // So long that its environment is gone before anybody looks.
    const program = `setsid env -i sleep ${String(seconds)} & sleep 0.05`;
    spawn("sh", ["-c", program], { stdio: "inherit" }).on("exit", () => process.exit(3));
    return undefined;
  },
  print_long_line(input) {
    const chunk = "x".repeat(1024 * 1024);
    for (let part = 0; part < Number(input["mebibytes"]); part += 1) process.stdout.write(chunk);
    process.stdout.write("\n");
    return "printed";
  },
  print_on_stderr(input) {
    const chunk = "x".repeat(1024 * 1024);
    for (let part = 0; part < Number(input["mebibytes"]); part += 1) process.stderr.write(chunk);
    return "printed";
  },
  stop_itself() {
    process.kill(process.pid, "SIGSTOP");
    return undefined;
  },
  stop_reading: () => {
    input.pause();
    setInterval(() => undefined, 1e6);
    return "stopped";
  },
  stop_supervisor: ({ pid }) => {
    process.kill(Number(pid), "SIGSTOP");
    return "stopped";
  },
};
const names = ["answer_broken", "echo_between", "refuse", ...Object.keys(acts)];
const input = createInterface(process.stdin);

input.on("line", (line) => {
  const { id, method: asked, params } = JSON.parse(line) as Request;
  if (id === undefined || asked === undefined) return;
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
  const { name, arguments: given } = params!;
  if (name === "answer_broken") {
    return write(brokenAnswers[String(given["kind"])]!(String(id)));
  }
  if (name === "echo_between") {
    const { notify: news, strays = [] } = given as { notify?: object; strays?: string[][] };
    const method = "notifications/message";
    if (news) write(JSON.stringify({ jsonrpc: "2.0", method, params: news }));
    const [before = [], after = []] = strays;
    for (const kind of before) write(strayLines[kind]!);
    say(given["text"]);
    for (const kind of after) write(strayLines[kind]!);
    return undefined;
  }
  if (name === "refuse") {
    return refuse(given["message"], given["data"]);
  }
  const text = acts[name]?.(given);
  return text === undefined ? undefined : say(text);
});
