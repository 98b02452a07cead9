/** Options are data from outside: every factory, and every function with options, checks them. */
import { createMemoryStore } from "@durable-mcp/core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { scriptedModel } from "@durable-mcp/testing/ai-sdk";
import { alice } from "./step.ts";
import { checkedElsewhere, wrongValues } from "../../sessions/test/wrong-values.ts";
import { checkOptions, checkOwnOptions } from "../../sessions/src/base/check-options.ts";
import { createEventLog } from "../../sessions/src/event-log/index.ts";
import { createStudio } from "../../sessions/src/studio/index.ts";
import {
  type ConnectionRun,
  createConnectionProvider,
  createChatRoute,
  createDurableAgent,
  createDurableAgentUIStreamResponse,
  createDurableSessions,
  createPrincipals,
  currentConnections,
  defineMcpClientConnection,
  fromMcpServers,
  stopWhenWaiting,
  withConnections,
} from "../src/index.ts";
import { openTelemetry } from "../../sessions/src/opentelemetry/index.ts";
import { defineMcpStdioConnection } from "../src/stdio.ts";

// Only to see with which schema each function checks its options. Test files share modules, so this one loads its own.
vi.hoisted(() => vi.resetModules());
vi.mock("../../sessions/src/base/check-options.ts", async (load) => {
  const original = await load<typeof import("../../sessions/src/base/check-options.ts")>();
  const { checkOptions: check, checkOwnOptions: checkOwn } = original;
  return {
    ...original,
    checkOptions: vi.fn<typeof check>(check),
    checkOwnOptions: vi.fn<typeof checkOwn>(checkOwn),
  };
});
afterAll(() => void vi.resetModules());

const url = "http://127.0.0.1:1/mcp";
const description = "A notebook.";
const connections = {
  notes: defineMcpClientConnection({ url, description, session: "stateful" }),
};
const store = createMemoryStore();
const provider = createConnectionProvider({ connections, onEvent: () => undefined });
const sessions = createDurableSessions({ provider, store });
const { admin } = sessions;
const registry = provider.create({ principal: alice });
const model = scriptedModel("Done.");
const agent = createDurableAgent({ sessions, model });
const principal = alice;
const use = { principal };
let stored: ConnectionRun<any>;

beforeAll(async () => {
  stored = await sessions.open("chat", use);
});
afterAll(() => provider.shutdown());

/** Gives options to a function that has to check them, and options that are fine. */
type Entry = readonly [give: (options: any) => unknown, valid: object];

const entries: Readonly<Record<string, Entry>> = {
  defineMcpClientConnection: [defineMcpClientConnection, { url, description }],
  defineMcpStdioConnection: [defineMcpStdioConnection, { command: "notebook", description }],
  fromMcpServers: [(o) => fromMcpServers({ mcpServers: { notes: { url } } }, o), {}],
  openTelemetry: [openTelemetry, {}],
  createEventLog: [createEventLog, { path: "events.jsonl" }],
  createStudio: [createStudio, { sessions, authorize: () => undefined }],
  stopWhenWaiting: [stopWhenWaiting, {}],

  createConnectionProvider: [createConnectionProvider, { connections }],
  "provider.create": [(o) => provider.create(o), use],
  "provider.run": [(o) => provider.run(o, () => undefined), { session: {}, ...use }],
  "provider.list": [(o) => provider.list({}, o), use],
  "provider.status": [(o) => provider.status({}, o), use],
  "provider.restart": [(o) => provider.restart({}, o), use],
  "provider.clearTools": [(o) => provider.clearTools({}, o), use],
  "provider.end": [(o) => provider.end({}, o), use],
  "provider.waiting": [(o) => provider.waiting({}, o), use],
  "provider.answer": [(o) => provider.answer({}, "id", {}, o), use],
  "provider.withdraw": [(o) => provider.withdraw({}, "id", o), use],
  "provider.shutdown": [(o) => createConnectionProvider({ connections }).shutdown(o), {}],

  createDurableSessions: [createDurableSessions, { connections, store }],
  "createDurableSessions with a provider": [createDurableSessions, { provider, store }],
  "sessions.open": [(o) => sessions.open("chat", o), use],
  "sessions.run": [(o) => sessions.run("chat", o, () => undefined), use],
  "sessions.list": [(o) => sessions.list(o), use],
  "sessions.status": [(o) => sessions.status("chat", o), use],
  "sessions.restart": [(o) => sessions.restart("chat", o), use],
  "sessions.clearTools": [(o) => sessions.clearTools("chat", o), use],
  "sessions.end": [(o) => sessions.end("chat", o), use],
  "sessions.endAll": [(o) => sessions.endAll(o), use],
  "sessions.waiting": [(o) => sessions.waiting("chat", o), use],
  "sessions.answer": [(o) => sessions.answer("chat", "id", {}, o), use],
  "sessions.withdraw": [(o) => sessions.withdraw("chat", "id", o), use],
  "sessions.shutdown": [(o) => createDurableSessions({ connections, store }).shutdown(o), {}],
  "admin.list": [(o) => admin.list(o), use],
  "admin.status": [(o) => admin.status("chat", o), use],
  "admin.restart": [(o) => admin.restart("chat", o), use],
  "admin.clearTools": [(o) => admin.clearTools("chat", o), use],
  "admin.end": [(o) => admin.end("chat", o), use],
  "admin.sweep": [(o) => admin.sweep(o), { idleForMs: 1e9 }],

  createDurableAgent: [createDurableAgent, { connections, store, model }],
  createChatRoute: [createChatRoute, { agent, principal: () => alice }],
  "agent.open": [(o) => agent.open(o), { sessionId: "chat", ...use }],

  "run.tools": [(o) => registry.tools(o), { connections: [] }],
  "run.enter": [(o) => provider.create(use).enter(() => undefined, o), {}],
  "run.call": [(o) => registry.call("notes", "add_note", {}, o), {}],
  "run.ready": [(o) => registry.ready("notes", o), { timeoutMs: 1 }],
  "run.status": [(o) => registry.status(o), { timeoutMs: 1 }],
  "run.restart": [(o) => registry.restart("notes", o), { timeoutMs: 1 }],
  "run.named.create": [(o) => registry.named.create("research", o), {}],
  "run.named.run": [(o) => registry.named.run("research", () => undefined, o), {}],
  "run.waiting.answer": [(o) => stored.waiting.answer("id", {}, o), {}],
  "run.waiting.resume": [(o) => stored.waiting.resume([], o), { tools: {} }],
  currentConnections: [currentConnections, { ephemeral: true, provider, ...use }],
  withConnections: [
    (o) => provider.create(use).enter(() => withConnections({}, () => undefined, o)),
    {},
  ],
};

/** What options are refused with; the options that are fine may fail for other reasons. */
async function refusalOf(give: Entry[0], options: unknown): Promise<unknown> {
  try {
    await give(options);
  } catch (error) {
    return error;
  }
  return undefined;
}

describe.each(Object.entries(entries))("%s", (_, [give, valid]) => {
  const check = async () => {
    const checks = [vi.mocked(checkOptions), vi.mocked(checkOwnOptions)];
    checks.forEach((each) => each.mockClear());
    const refusal = await refusalOf(give, valid);
    const [used] = checks.flatMap(({ mock }) => mock.calls.filter(([, given]) => given === valid));
    if (used === undefined) throw new Error("Nothing checks these options.");
    return { schema: used[0], refusal };
  };

  test("refuses each option of a wrong type, unknown options, and what is no object", async () => {
    const { schema } = await check();
    const wrong = wrongValues(schema);
    expect(wrong.at(-1), "an unknown option").toMatchObject({ reason: "is not" });
    for (const { value, field: at, reason } of wrong) {
      const field = at || "options";
      const error = await refusalOf(give, value);
      expect.soft(error, `${field}: ${String(value)}`).toMatchObject({
        code: "CONNECTION_INVALID",
        data: { field },
        message: expect.stringContaining(`${field} ${reason}`),
      });
    }
    for (const [option, value] of Object.entries(checkedElsewhere)) {
      if (!(option in schema.options) || value === undefined) continue;
      expect.soft(await refusalOf(give, { ...valid, [option]: value })).toMatchObject({
        code: expect.stringMatching(/PRINCIPAL_REQUIRED|CONNECTION_INVALID/),
        message: expect.stringContaining(option),
      });
    }
  });

  test("takes what is right", async () => {
    const { refusal } = await check();
    const { field } = (refusal as { data?: { field?: string } } | undefined)?.data ?? {};
    expect(Object.keys(valid)).not.toContain(field);
  });
});

test("names what was probably meant", () => {
  const starts: [(options: any) => unknown, object, string][] = [
    [defineMcpClientConnection, { url, descripton: "x" }, "Did you mean description?"],
    [defineMcpClientConnection, { url, description, timeouts: { callMS: 5 } }, "mean callMs?"],
    [createDurableAgent, { sessions, model, onUnavailble: "throw" }, "mean onUnavailable?"],
  ];
  for (const [start, options, message] of starts) {
    expect.soft(() => start(options)).toThrow(message);
  }
});

test.each([
  ["system", "instructions"],
  ["maxSteps", "stopWhen"],
  ["abortSignal", "generate or stream"],
])("a setting %s, which no agent has, is refused with its place: %s", (setting, place) => {
  const start = () => createDurableAgent({ sessions, model, [setting]: "x" });
  expect(start).toThrow(new RegExp(`^${setting} is .*${place}`));
});

test("a login without an issuer is refused", () => {
  const refused = expect.objectContaining({ data: { field: "issuer" } });
  expect(() => createPrincipals({ issuer: 5 } as never)).toThrow(refused);
});

test("a message ends once", () => {
  const misspelt = { url, description, sesion: "stateful" } as never;
  expect(() => defineMcpClientConnection(misspelt)).toThrow(/Did you mean session\?$/);
});

test.each<[string, object, string, RegExp]>([
  ["auth and authProvider", { auth: { getToken() {} }, authProvider() {} }, "auth", /authProvider/],
  ["a transport of the AI SDK", { transport: { type: "http", url } }, "transport", /url/],
  ["tools that are allowed and blocked", { tools: { allow: [], block: [] } }, "tools", /or/],
  ["tools that are no list", { tools: { allow: 5 } }, "tools.allow", /a list of names/],
  ["a header that is none", { headers: { "a b": "x" } }, "headers.a b", /header name/],
  ["a session without its mode", { session: { resend: "safe" } }, "session.mode", /"stateful"/],
  [
    "a shared id that is too long",
    { session: { mode: "stateful", shared: "x".repeat(257) } },
    "session.shared",
    /1 to 256 characters/,
  ],
  [
    "a misspelt option of a session",
    { session: { mode: "stateful", resnd: 1 } },
    "session.resnd",
    /resend\?/,
  ],
])("%s: the error names the field and the fix", (_, options, field, fix) => {
  const given = { description, ...("transport" in options ? {} : { url }), ...options };
  const define = () => defineMcpClientConnection(given as any);
  expect(define).toThrow(
    expect.objectContaining({ data: { field }, message: expect.stringMatching(fix) }),
  );
});

test("a shared session over stdio: the error says why", () => {
  const session = { shared: "inventory" } as object;
  const define = () => defineMcpStdioConnection({ command: "node", description, session });
  const message = expect.stringContaining("no other process finds the process");
  expect(define).toThrow(expect.objectContaining({ data: { field: "session.shared" }, message }));
});

test("waiting over stdio: the error says why", () => {
  const waiting = { waiting: true } as object;
  const define = () => defineMcpStdioConnection({ command: "node", description, ...waiting });
  const message = expect.stringContaining("while its process runs");
  expect(define).toThrow(expect.objectContaining({ data: { field: "waiting" }, message }));
});

test("the options of a durable agent's call are checked before anything is opened", async () => {
  const options = { sessionId: "chat", principal, onUnavailable: "ignore" } as any;
  const refused = { code: "CONNECTION_INVALID", data: { field: "onUnavailable" } };
  await expect(agent.generate({ prompt: "Hi", options })).rejects.toMatchObject(refused);
  await expect(agent.stream({ prompt: "Hi", options })).rejects.toMatchObject(refused);
  const response = createDurableAgentUIStreamResponse({ agent, uiMessages: [], options });
  await expect(response).rejects.toMatchObject(refused);
});
