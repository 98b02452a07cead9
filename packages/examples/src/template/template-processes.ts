import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { atExit } from "../programs/at-exit.ts";
import { endProgram } from "../programs/start-program.ts";
import { findFreePort, waitForPort } from "../programs/wait-for-port.ts";
import { startRoundRobin } from "../servers/round-robin.ts";

/** A Next.js server of the template, which can be killed and started again. */
export interface ChatProcess {
  /** As the page shows it. */
  readonly pid: number;
  kill: () => Promise<void>;
  /** @param settings environment variables besides those of `.env.local` */
  start: (settings?: Record<string, string>) => Promise<void>;
}

export interface TemplateProcesses {
  /** Where the browser finds the chat. */
  readonly url: string;
  /** Two processes on one store. */
  readonly chats: readonly [ChatProcess, ChatProcess];
  /** From now on one of them gets all requests. */
  sendTo: (chat: ChatProcess) => void;
  /** Ends all of them, and starts `npm run dev` in their place. Gives its URL. */
  startDevelopment: () => Promise<string>;
}

/** Starts an installed template: its MCP servers, two Next.js servers on one store, and a balancer before them. */
export async function startTemplate(folder: string): Promise<TemplateProcesses> {
  const ports: number[] = [];
  const { port } = await startRoundRobin(ports, 0);
  const url = `http://127.0.0.1:${port}`;
  await chooseSettings(folder, url);
  execFileSync(process.execPath, ["servers/write-env.ts"], { cwd: folder });
  const servers = startIn(folder, process.execPath, ["--env-file=.env.local", "servers/main.ts"]);
  atExit(() => servers.kill());
  await waitForPort(portOf(folder, "ACCOUNT_URL"));
  await waitForPort(portOf(folder, "AUTHORIZATION_URL"));

  const portOfChat = new Map<ChatProcess, number>();
  const startChat = async (): Promise<ChatProcess> => {
    const own = await findFreePort();
    const next = join(folder, "node_modules/next/dist/bin/next");
    let child: ChildProcess;
    const chat: ChatProcess = {
      get pid() {
        return child.pid ?? 0;
      },
      kill: () => endProgram(child, "SIGKILL"),
      async start(settings) {
        const args = [next, "start", "--hostname", "127.0.0.1", "--port", String(own)];
        child = startIn(folder, process.execPath, args, settings);
        await waitForPort(own);
      },
    };
    await chat.start();
    atExit(() => child.kill("SIGKILL"));
    portOfChat.set(chat, own);
    return chat;
  };
  const chats = [await startChat(), await startChat()] as const;
  const sendTo = (chat: ChatProcess) => void ports.splice(0, 1, portOfChat.get(chat) ?? 0);
  sendTo(chats[0]);
  return {
    ...{ url, chats, sendTo },
    async startDevelopment() {
      await Promise.all([endProgram(servers, "SIGTERM"), ...chats.map((chat) => chat.kill())]);
      return await startDevelopment(folder);
    },
  };
}

/** `npm run dev` in an installed template. Gives its URL. */
export async function startDevelopment(folder: string): Promise<string> {
  const own = await findFreePort();
  // Next.js serves what a page needs in development to `localhost` alone.
  const url = `http://localhost:${own}`;
  const settings = { PORT: String(own), APP_URL: url };
  const development = startIn(folder, "npm", ["run", "dev"], settings);
  atExit(() => process.kill(-(development.pid ?? 0), "SIGKILL"));
  await waitForPort(own);
  await waitForPort(portOf(folder, "ACCOUNT_URL"));
  return url;
}

function startIn(
  cwd: string,
  command: string,
  args: readonly string[],
  settings: Record<string, string> = {},
): ChildProcess {
  // The model is the script, whatever this machine has keys for.
  const env = { ...process.env, ...settings, MODEL: "", NODE_ENV: undefined };
  // In a group of its own, which ends with all that it has started.
  const detached = command === "npm";
  return spawn(command, args, { cwd, env, detached, stdio: ["ignore", "ignore", "inherit"] });
}

/** Puts ports that are free, and where the chat is, in the places of those that a first start copies. */
export async function chooseSettings(folder: string, url: string): Promise<void> {
  const path = join(folder, ".env.example");
  const [servers, authorization] = [await findFreePort(), await findFreePort()];
  const settings = readFileSync(path, "utf8")
    .replaceAll("127.0.0.1:4000", `127.0.0.1:${servers}`)
    .replaceAll("127.0.0.1:4001", `127.0.0.1:${authorization}`)
    // Last: its port may begin with those digits.
    .replace(/^APP_URL=.*$/m, `APP_URL=${url}`);
  writeFileSync(path, settings);
}

function portOf(folder: string, name: string): number {
  const settings = readFileSync(join(folder, ".env.local"), "utf8");
  const [, url = ""] = new RegExp(`^${name}=(.*)$`, "m").exec(settings) ?? [];
  return Number(new URL(url).port);
}
