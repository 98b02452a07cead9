/** A program that speaks MCP over stdin and stdout, and counts its calls. */
import { spawn } from "node:child_process";
import { appendFileSync, existsSync } from "node:fs";
import { createInterface } from "node:readline";

type Answer = { readonly result?: unknown };

const send = (message: object) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const asked = new Map<unknown, (answer: Answer) => void>();
let [count, questions] = [0, 0];

const ask = async (method: string, params: object) =>
  await new Promise<Answer>((resolve) => {
    questions += 1;
    asked.set(questions, resolve);
    send({ id: questions, method, params });
  });

const names = ["env", "count", "pid", "child", "exit", "ask", "progress", "wait", "retool"];

async function call(name: string, args: { key?: string }, token: unknown): Promise<string> {
  if (name === "count") return `count ${(count += 1)}`;
  if (name === "env") return process.env["SECRET"] ?? "none";
  if (name === "pid") return String(process.pid);
  if (name === "child") {
    const sleeper = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"], {
      stdio: "ignore",
      detached: true,
    });
    return String(sleeper.pid);
  }
  if (name === "exit") {
    process.stderr.write("out of paper\n");
    process.exit(3);
  }
  if (name === "ask") {
    const { result } = await ask("elicitation/create", { message: "Which size?" });
    return JSON.stringify(result);
  }
  if (name === "progress")
    send({ method: "notifications/progress", params: { progressToken: token, progress: 1 } });
  if (name === "wait") await new Promise((resolve) => void setTimeout(resolve, 300));
  if (name === "retool") send({ method: "notifications/tools/list_changed" });
  return `${name} ${args.key}`;
}

async function answer({ id, method, params }: any): Promise<object | undefined> {
  if (method === "initialize") {
    if (process.argv.includes("slow"))
      await new Promise((resolve) => void setTimeout(resolve, 700));
    const { protocolVersion } = params;
    const serverInfo = { name: "counting", version: "1.0.0" };
    return { id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo } };
  }
  if (method === "tools/list") {
    const tools = names.map((name) => ({ name, inputSchema: { type: "object" } }));
    return { id, result: { tools } };
  }
  if (method !== "tools/call") return id === undefined ? undefined : { id, result: {} };
  const { name, arguments: args = {}, _meta: meta } = params;
  const text = await call(name, args, meta?.progressToken);
  return { id, result: { content: [{ type: "text", text }] } };
}

/** A file that makes it fail as long as it is there. */
const broken = /broken=(.*)/.exec(process.argv.join("\n"))?.[1] ?? "";

if (existsSync(broken)) {
  appendFileSync(broken, "tried ");
  process.stderr.write("out of ink\n");
  process.exitCode = 4;
} else if (process.argv.includes("fail")) {
  process.stderr.write(`no paper, ${process.env["SECRET"]}\n`);
  process.exitCode = 1;
} else if (process.argv.includes("deaf")) {
  process.stderr.write("waiting for paper\n");
  setInterval(() => undefined, 1_000);
} else {
  createInterface({ input: process.stdin }).on("line", (line) => {
    const message = JSON.parse(line);
    const { id, method } = message;
    if (method === undefined) asked.get(id)?.(message);
    else void answer(message).then((answered) => answered && send(answered));
  });
}
