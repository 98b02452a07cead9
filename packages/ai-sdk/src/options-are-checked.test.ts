/** Options are data from outside: every factory, and every function with options, checks them. */
import { createMemoryStore } from "@durable-mcp/core";
import { afterAll, describe, expect, test } from "vitest";
import { scriptedModel } from "@durable-mcp/testing/ai-sdk";
import { alice } from "../test/step.ts";
import {
  createConnectionProvider,
  createDurableAgent,
  createDurableAgentUIStreamResponse,
  createDurableSessions,
  createPrincipals,
  currentConnections,
  defineMcpClientConnection,
  fromMcpServers,
  stopWhenWaiting,
  withConnections,
} from "./index.ts";
import { openTelemetry } from "./opentelemetry/index.ts";
import { defineMcpStdioConnection } from "./stdio/index.ts";

const url = "http://127.0.0.1:1/mcp";
const description = "A notebook.";
const connections = {
  notes: defineMcpClientConnection({ url, description, session: "stateful" }),
};
const store = createMemoryStore();
const provider = createConnectionProvider({ connections, onEvent: () => undefined });
const sessions = createDurableSessions({ provider, store });
const registry = provider.create({ principal: alice });
const model = scriptedModel("Done.");
const agent = createDurableAgent({ sessions, model });
const principal = alice;
const use = { principal };
const anything: any = undefined;

afterAll(() => provider.shutdown());

interface Checked {
  /** Gives the options to what has to check them. */
  readonly give: (options: any) => unknown;
  /** Options that are fine. */
  readonly valid: object;
  /** Options, with their paths, and a value of the wrong type for each. */
  readonly wrong: Readonly<Record<string, unknown>>;
  /** Options that are times, in milliseconds. */
  readonly times?: readonly string[];
  /** Stands before the options' names in `data.field`. */
  readonly prefix?: string;
  /** Whether all other options belong to another package, which takes any. */
  readonly takesOthers?: boolean;
}

const shared = {
  ...{ session: 5, tools: [], toolNames: 5, providedArguments: 5, schemas: 5 },
  ...{ capabilities: 5, onElicitation: 5 },
  ...{ client: "shop", "client.name": 5 },
  ...{ approval: "always", onProgress: true },
};
const sharedTimes = ["timeouts.connectMs", "timeouts.callMs", "timeouts.startMs"];
const step = { abortSignal: {}, principal: "alice", onUnavailable: "ignore" };
const selection = { principal: "alice", connection: 5, name: 5 };

const table: Record<string, Checked> = {
  defineMcpClientConnection: {
    give: defineMcpClientConnection,
    valid: { url, description },
    wrong: {
      ...{ ...shared, url: 5, description: 5, required: "yes", auth: 5, authProvider: 5 },
      ...{ headers: 5, "headers.x-key": 5, timeouts: 5, fetch: 5 },
    },
    times: [...sharedTimes, "timeouts.answerMs"],
  },
  "session of defineMcpClientConnection": {
    give: (session) => defineMcpClientConnection({ url, description, session }),
    valid: { mode: "stateful" },
    wrong: {
      ...{ mode: "statefull", toolList: 5, resend: true, onLoss: "no" },
      ...{ onStart: 5, lossNotice: true, classifyLoss: 5, except: "add" },
      ...{ restartOnNewCapabilities: 1, "toolList.maxLength": -1, shared: "" },
      maxAgeMs: 999,
    },
    times: ["toolList.maxAgeMs"],
    prefix: "session.",
  },
  fromMcpServers: {
    give: (options) => fromMcpServers({ mcpServers: { notes: { url } } }, options),
    valid: {},
    wrong: {
      variables: 5,
      "variables.A": 5,
      overrides: [],
      "overrides.notes": 5,
      ignore: "timeout",
    },
  },
  createPrincipals: {
    give: createPrincipals,
    valid: { issuer: "https://shop.example" },
    wrong: { issuer: 5 },
  },
  defineMcpStdioConnection: {
    give: defineMcpStdioConnection,
    valid: { command: "notebook", description },
    wrong: {
      ...shared,
      command: 5,
      args: "-v",
      env: 5,
      cwd: 5,
      reuse: "no",
      required: 1,
      timeouts: 5,
    },
    times: [...sharedTimes, "timeouts.closeMs"],
  },
  createConnectionProvider: {
    give: createConnectionProvider,
    valid: { connections },
    wrong: { connections: 5, pool: 5, autoSession: 5, onEvent: {}, telemetry: 5, now: 5 },
    times: ["pool.keepAliveMs", "autoSession.idleTimeoutMs"],
  },
  "pool of createConnectionProvider": {
    give: (pool) => createConnectionProvider({ connections, pool }),
    valid: {},
    wrong: { max: "100" },
    times: ["keepAliveMs"],
    prefix: "pool.",
  },
  "provider.create": {
    give: (options) => provider.create(options),
    valid: use,
    wrong: { ...step, sessionId: 5 },
  },
  "provider.run": {
    give: (options) => provider.run(options, () => undefined),
    valid: { session: {}, ...use },
    wrong: { ...step, session: 5, sessionId: 5, onSession: 5 },
  },
  "provider.end": {
    give: (options) => provider.end({}, options),
    valid: use,
    wrong: selection,
    times: ["timeoutMs"],
  },
  "provider.info": {
    give: (options) => provider.list({}, options),
    valid: use,
    wrong: selection,
  },
  "provider.status": {
    give: (options) => provider.status({}, options),
    valid: use,
    wrong: selection,
    times: ["timeoutMs"],
  },
  "provider.restart": {
    give: (options) => provider.restart({}, options),
    valid: use,
    wrong: selection,
    times: ["timeoutMs"],
  },
  "provider.clearTools": {
    give: (options) => provider.clearTools({}, options),
    valid: use,
    wrong: selection,
  },
  "provider.shutdown": {
    give: (options) => createConnectionProvider({ connections }).shutdown(options),
    valid: {},
    wrong: {},
    times: ["timeoutMs"],
  },
  createDurableSessions: {
    give: createDurableSessions,
    valid: { connections, store },
    wrong: {
      ...{ store: {}, agent: 5, share: 1, onEvent: 5, now: 5, connections: 5, pool: 5 },
      ...{ telemetry: 5, autoSession: 5 },
    },
    times: ["touchIntervalMs", "pool.keepAliveMs"],
  },
  "autoSession of createDurableSessions": {
    give: (autoSession) => createDurableSessions({ connections, store, autoSession }).shutdown(),
    valid: { principal, sessionId: "nightly" },
    wrong: { sessionId: 5 },
    times: ["idleTimeoutMs"],
    prefix: "autoSession.",
  },
  "createDurableSessions with a provider": {
    give: createDurableSessions,
    valid: { provider, store },
    wrong: { provider: 5 },
    times: ["touchIntervalMs"],
  },
  "sessions.open": {
    give: (options) => sessions.open("chat", options),
    valid: use,
    wrong: step,
  },
  "sessions.run": {
    give: (options) => sessions.run("chat", options, () => undefined),
    valid: use,
    wrong: step,
  },
  "sessions.status": {
    give: (options) => sessions.status("chat", options),
    valid: use,
    wrong: selection,
    times: ["timeoutMs"],
  },
  "sessions.restart": { give: (o) => sessions.restart("chat", o), valid: use, wrong: selection },
  "sessions.clearTools": {
    give: (options) => sessions.clearTools("chat", options),
    valid: use,
    wrong: selection,
  },
  "sessions.end": { give: (o) => sessions.end("chat", o), valid: use, wrong: selection },
  "sessions.list": {
    give: (options) => sessions.list(options),
    valid: use,
    wrong: { ...selection, shared: 5, cursor: 5, limit: 0 },
  },
  "sessions.endAll": {
    give: (options) => sessions.endAll(options),
    valid: use,
    wrong: { principal: "alice" },
  },
  "sessions.shutdown": {
    give: (options) => createDurableSessions({ connections, store }).shutdown(options),
    valid: {},
    wrong: {},
    times: ["timeoutMs"],
  },
  "admin.list": {
    give: (options) => sessions.admin.list(options),
    valid: {},
    wrong: { name: 5, cursor: 5, limit: 1e6 },
  },
  "admin.sweep": {
    give: (options) => sessions.admin.sweep(options),
    valid: { idleForMs: 1e9 },
    wrong: { idleForMs: "1e9", name: 5, shared: "yes", limit: 0, authorize: 5 },
    times: ["idleForMs"],
  },
  createDurableAgent: {
    give: createDurableAgent,
    valid: { connections, store, model },
    wrong: { store: {}, agent: 5, share: 1, onEvent: 5, now: 5, pool: 5, onUnavailable: 1 },
    times: ["touchIntervalMs"],
    takesOthers: true,
  },
  "agent.open": {
    give: (options) => agent.open(options),
    valid: { sessionId: "chat", ...use },
    wrong: { ...step, sessionId: 5 },
  },
  "run.tools": {
    give: (options) => registry.tools(options),
    valid: { connections: [] },
    wrong: { connections: "notes", onUnavailable: "ignore" },
  },
  "run.enter": {
    give: (options) => provider.create({ principal }).enter(() => undefined, options),
    valid: {},
    wrong: { onClose: 5 },
  },
  "run.call": {
    give: (options) => registry.call("notes", "add_note", {}, options),
    valid: {},
    wrong: { abortSignal: {} },
    times: ["timeoutMs"],
  },
  "run.ready": {
    give: (options) => registry.ready("notes", options),
    valid: { timeoutMs: 1 },
    wrong: { abortSignal: {} },
    times: ["timeoutMs"],
  },
  "run.status": {
    give: (options) => registry.status(options),
    valid: { timeoutMs: 1 },
    wrong: { connection: 5 },
    times: ["timeoutMs"],
  },
  "run.restart": {
    give: (options) => registry.restart("notes", options),
    valid: { timeoutMs: 1 },
    wrong: {},
    times: ["timeoutMs"],
  },
  "named.create": {
    give: (options) => registry.named.create("research", options),
    valid: {},
    wrong: { connections: "notes" },
    times: ["idleTimeoutMs"],
  },
  "named.run": {
    give: (options) => registry.named.run("research", () => undefined, options),
    valid: {},
    wrong: { abortSignal: {} },
  },
  currentConnections: {
    give: currentConnections,
    valid: { ephemeral: true, provider, ...use },
    wrong: { ephemeral: "yes", provider: {} },
  },
  stopWhenWaiting: {
    give: stopWhenWaiting,
    valid: {},
    wrong: { stopWhen: 10, prepareStep: {} },
  },
  withConnections: {
    give: (options) => withConnections({}, () => undefined, options),
    valid: {},
    wrong: { abortSignal: {} },
  },
  openTelemetry: {
    give: openTelemetry,
    valid: {},
    wrong: { tracer: {}, meter: {}, propagate: "yes" },
  },
};

/** What options are refused with; the options that are fine may fail for other reasons. */
async function refusalOf(give: Checked["give"], options: unknown): Promise<unknown> {
  try {
    await give(options);
  } catch (error) {
    return error;
  }
  return undefined;
}

function withValue(valid: object, path: string, value: unknown): object {
  const [name = "", ...rest] = path.split(".");
  const inner = rest.length === 0 ? value : withValue(anything, rest.join("."), value);
  return { ...valid, [name]: inner };
}

describe.each(Object.entries(table))("%s", (_, { give, valid, wrong, ...checked }) => {
  const { times = [], prefix = "", takesOthers = false } = checked;
  const expectRefusal = async (path: string, value: unknown) => {
    const error = (await refusalOf(give, withValue(valid, path, value))) as Error | undefined;
    const field = prefix + path;
    expect.soft(error, `${field} of ${String(value)}`).toMatchObject({
      // A principal has an error of its own.
      code:
        path === "principal" ? expect.stringMatching(/PRINCIPAL|INVALID/) : "CONNECTION_INVALID",
      ...(path !== "principal" && { data: { field: expect.stringContaining(field) } }),
      message: expect.stringContaining(path === "principal" ? path : field),
    });
    expect.soft(error?.message).not.toMatch(/Invalid input|is invalid|undefined/);
  };

  test("refuses an unknown option", async () => {
    const others = takesOthers ? ["onEvnt", "touchIntervalms"] : ["unheardOf"];
    for (const other of others) await expectRefusal(other, true);
  });

  test("refuses what is no object", async () => {
    for (const options of [5, "text", null, []]) {
      expect.soft(await refusalOf(give, options)).toMatchObject({ code: "CONNECTION_INVALID" });
    }
  });

  test("refuses values of a wrong type", async () => {
    for (const [path, value] of Object.entries(wrong)) await expectRefusal(path, value);
  });

  test("refuses times that are none", async () => {
    for (const path of times) {
      for (const time of [Number.NaN, -1, 0.5, 2 ** 53, Number.POSITIVE_INFINITY, "1000"]) {
        await expectRefusal(path, time);
      }
    }
  });

  test("takes what is right", async () => {
    const refusal = await refusalOf(give, valid);
    const { field } = (refusal as { data?: { field?: string } } | undefined)?.data ?? {};
    expect(Object.keys({ ...valid, ...wrong })).not.toContain(field);
  });
});

test("names what was probably meant", () => {
  const starts: [(options: any) => unknown, object, string][] = [
    [defineMcpClientConnection, { url, descripton: "x" }, "Did you mean description?"],
    [defineMcpClientConnection, { url, description, timeouts: { callMS: 5 } }, "mean callMs?"],
    [createConnectionProvider, { connections, onEvents() {} }, "Did you mean onEvent?"],
    [createDurableAgent, { sessions, model, onUnavailble: "throw" }, "mean onUnavailable?"],
    [createDurableSessions, { conections: connections, store }, "Did you mean connections?"],
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

test("a message ends once", () => {
  const misspelt = { url, description, sesion: "stateful" } as never;
  expect(() => defineMcpClientConnection(misspelt)).toThrow(/Did you mean session\?$/);
});

test.each<[string, object, string, RegExp]>([
  ["auth and authProvider", { auth: { getToken() {} }, authProvider() {} }, "auth", /authProvider/],
  ["a transport of the AI SDK", { transport: { type: "http", url } }, "transport", /url/],
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

test("the options of a durable agent's call are checked before anything is opened", async () => {
  const options = { sessionId: "chat", principal, onUnavailable: "ignore" } as any;
  const refused = { code: "CONNECTION_INVALID", data: { field: "onUnavailable" } };
  await expect(agent.generate({ prompt: "Hi", options })).rejects.toMatchObject(refused);
  await expect(agent.stream({ prompt: "Hi", options })).rejects.toMatchObject(refused);
  const response = createDurableAgentUIStreamResponse({ agent, uiMessages: [], options });
  await expect(response).rejects.toMatchObject(refused);
});
