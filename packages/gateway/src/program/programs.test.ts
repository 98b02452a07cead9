import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { createGateway } from "../create-gateway.ts";
import { connectClient2, connectSdk1, textOf } from "../../test/clients.ts";
import {
  begin,
  enter,
  get,
  messagesOf,
  post,
  readEvents,
  toolCall,
} from "../../test/raw-client.ts";
import { programOptions, serveGateway } from "../../test/serve-gateway.ts";

const unused = "http://unused.invalid/";
const serveProgram = async (...options: Parameters<typeof programOptions>) =>
  await serveGateway(unused, programOptions(...options));

const isAlive = (pid: string) => {
  try {
    process.kill(Number(pid), 0);
    return true;
  } catch {
    return false;
  }
};
const textIn = (result: string): string => JSON.parse(result).content[0].text;

test.each([
  ["@modelcontextprotocol/sdk 1", connectSdk1],
  ["@modelcontextprotocol/client 2", connectClient2],
])("%s has a process of its own for each session", async (_, connect) => {
  const { url } = await serveProgram();
  const [ann, ben] = [await connect(url), await connect(url)];
  const count = { name: "count", arguments: {} };
  expect(textOf(await ann.callTool(count))).toBe("count 1");
  expect(textOf(await ann.callTool(count))).toBe("count 2");
  expect(textOf(await ben.callTool(count))).toBe("count 1");
  expect((await ann.listTools()).tools.map(({ name }) => name)).toContain("count");
});

test("a process ends with its session, and its children with it", async () => {
  const { url, gateway } = await serveProgram();
  const [ann, ben] = [await enter(url), await enter(url)];
  const ofAnn = [textIn(await ann.call("pid")), textIn(await ann.call("child"))];
  const ofBen = [textIn(await ben.call("pid")), textIn(await ben.call("child"))];
  expect((await ann.end()).status).toBe(204);
  await vi.waitFor(() => expect(ofAnn.some(isAlive)).toBe(false), 5_000);
  expect(ofBen.every(isAlive)).toBe(true);
  await gateway.shutdown();
  await vi.waitFor(() => expect(ofBen.some(isAlive)).toBe(false), 5_000);
});

test("a process that dies is started again with the next call, and its client is told", async () => {
  const { url } = await serveProgram();
  const client = await enter(url);
  const { session } = client;
  const news = readEvents(await get(url, { session }));
  expect(textIn(await client.call())).toBe("count 1");
  expect(await client.call("exit")).toMatch(/exit code 3 .*unknown.*out of paper/);
  const next = await client.call();
  expect(textIn(next)).toBe("count 1");
  expect(next).toContain("had forgotten this session");
  expect((await news.next())?.message).toMatchObject({
    method: "notifications/tools/list_changed",
  });
  expect(await client.call()).not.toContain("forgotten");
  const pid = textIn(await client.call("pid"));
  process.kill(Number(pid), "SIGKILL");
  await wait(500);
  expect(textIn(await client.call())).toBe("count 1");
});

test("a program that does not start says why, without its secrets", async () => {
  const { url } = await serveProgram(["fail"], { env: { SECRET: "hunter22" } });
  await expect(begin(url)).rejects.toThrow(/502.*exit code 1.*no paper/);
  await expect(begin(url)).rejects.not.toThrow(/hunter22/);
  const { url: other } = await serveProgram([], { command: "no-such-program" });
  await expect(begin(other)).rejects.toThrow(/502.*no command no-such-program/);
});

test("a program that cannot be started again says why in the next call, and is tried once a call", async () => {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-program-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const flag = join(folder, "broken");
  const { url } = await serveProgram([`broken=${flag}`]);
  const client = await enter(url);
  const pid = textIn(await client.call("pid"));
  writeFileSync(flag, "");
  process.kill(Number(pid), "SIGKILL");
  await vi.waitFor(() => expect(isAlive(pid)).toBe(false));
  expect(await client.call()).toMatch(/not carried out.*exit code 4.*out of ink/);
  expect(readFileSync(flag, "utf8")).toBe("tried ");
  rmSync(flag);
  expect(await client.call()).toMatch(/count 1.*had forgotten this session/);
});

test("a program that does not answer says so, though it takes long to end", async () => {
  const timeouts = { connectMs: 1_000, closeMs: 3_000 };
  const { url } = await serveProgram(["deaf"], { timeouts });
  await expect(begin(url)).rejects.toThrow(/502.*within 1000 ms.*waiting for paper/);
});

test("its environment is the one of the definition, for each principal", async () => {
  const { url } = await serveProgram([], {
    env: { SECRET: ({ principal }) => `for ${principal?.type === "user" && principal.id}` },
  });
  expect(textIn(await (await enter(url)).call("env"))).toBe("for ann");
  expect(textIn(await (await enter(url, { token: "bob" })).call("env"))).toBe("for bob");
});

test("a name has one process, which outlives its clients", async () => {
  const { url, gateway } = await serveProgram();
  const first = await enter(`${url}@work`);
  expect(textIn(await first.call())).toBe("count 1");
  const pid = textIn(await first.call("pid"));
  await first.end();
  await wait(100);
  const second = await enter(`${url}@work`);
  expect(textIn(await second.call())).toBe("count 2");
  await gateway.end("@work");
  await vi.waitFor(() => expect(isAlive(pid)).toBe(false), 5_000);
});

test("a shared program has one process for all sessions of a principal, and nothing is crossed", async () => {
  const { url } = await serveGateway(unused, { ...programOptions(), sharedPrograms: ["shop"] });
  const [ann, ben] = await Promise.all([enter(url), enter(url)]);
  expect(await ann.call("pid")).toBe(await ben.call("pid"));
  const bob = await enter(url, { token: "bob" });
  expect(textIn(await ann.call())).toBe("count 1");
  expect(textIn(await ben.call())).toBe("count 2");
  expect(textIn(await bob.call())).toBe("count 1");
  const work = async (client: typeof ann, who: string) => {
    for (let n = 0; n < 50; n += 1)
      expect(textIn(await client.call("echo", { key: `${who}${n}` }))).toBe(`echo ${who}${n}`);
  };
  await Promise.all([work(ann, "ann"), work(ben, "ben")]);
  const pid = textIn(await ann.call("pid"));
  await ann.end();
  expect(isAlive(pid)).toBe(true);
  expect(await ben.call("exit")).toContain("unknown");
  expect(await ben.call()).toContain("had forgotten this session");
});

test("a question and progress during a call go to its client", async () => {
  const { url } = await serveProgram();
  const { session } = await enter(url);
  const events = readEvents(await post(url, toolCall(11, "ask"), { session }));
  let asked = await events.next();
  while (asked?.message?.method !== "elicitation/create") asked = await events.next();
  const result = { action: "accept", content: { size: "M" } };
  await post(url, { jsonrpc: "2.0", id: asked.message.id, result }, { session });
  const answered = (await events.rest()).at(-1)!.message;
  expect(answered).toMatchObject({ id: 11 });
  expect(answered.result.content[0].text).toContain('"M"');
  const call = toolCall(12, "progress", {}, { progressToken: "mine" });
  const messages = await messagesOf(await post(url, call, { session }));
  expect(messages[0]).toMatchObject({ params: { progressToken: "mine", progress: 1 } });
});

test("the process of a client that has gone ends after a while, and another takes its place", async () => {
  const options = programOptions();
  const { url } = await serveGateway(unused, { ...options, idleMs: 2_000 });
  const [gone, listening] = [await enter(url), await enter(url)];
  // A response that nobody holds is collected, and its connection closed.
  const stream = await get(url, { session: listening.session });
  const pids = [textIn(await gone.call("pid")), textIn(await listening.call("pid"))] as const;
  await vi.waitFor(() => expect(isAlive(pids[0])).toBe(false), 10_000);
  expect(isAlive(pids[1])).toBe(true);
  await stream.body?.cancel();
  expect(await gone.call()).toContain("had forgotten this session");
});

test.each(["", "@work"])(
  "a program may take longer to start, and to answer, than a session may be idle: shop%s",
  async (name) => {
    const { url } = await serveGateway(unused, { ...programOptions(["slow"]), idleMs: 100 });
    // Of this revision, and without a priming event, an answer is one of JSON.
    const client = await enter(`${url}${name}`, { protocolVersion: "2025-06-18" });
    expect(textIn(await client.call("wait", { key: "a" }))).toBe("wait a");
  },
);

test("a program needs a gateway of one process", () => {
  const options = { ...programOptions(), store: {} as never, principal: () => undefined };
  const store = { get: () => 0, put: () => 0, list: () => 0 } as never;
  expect(() => createGateway({ ...options, store, processes: "many" } as never)).toThrow(
    /connections.shop.*is a program, which lives in one process/,
  );
  expect(() => createGateway({ ...options, store, sharedPrograms: ["other"] } as never)).toThrow(
    /sharedPrograms.*other is none/,
  );
});
