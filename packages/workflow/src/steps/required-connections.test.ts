import {
  type ConnectionEvent,
  defineMcpClientConnection,
  McpSessionError,
} from "@durable-mcp/ai-sdk";
import { expect, test } from "vitest";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { openDurableConnections } from "../run/open-durable-connections.ts";
import { createConnectionSteps, type SlotRefusedEvent } from "./create-connection-steps.ts";

const principal = { type: "user", issuer: "https://idp.test", id: "alice" } as const;
const keys = { current: "a2V5IGZvciB0aGUgdGVzdHMgb2YgdGhlIHdvcmtmbG8" };
const open = { kind: "open", connections: ["notes"], principal, onUnavailable: "omit" } as const;

const signIn = { startUrl: "https://app.test/start", scopes: ["notes"] };

async function startSteps(required: boolean) {
  const server = await startNotebookServer();
  const user = { isSignedIn: true };
  const events: (ConnectionEvent | SlotRefusedEvent)[] = [];
  const notes = defineMcpClientConnection({
    url: server.url,
    description: "Notes.",
    session: "stateful",
    required,
    auth: {
      getToken() {
        if (user.isSignedIn) return undefined;
        throw new McpSessionError("AUTHORIZATION_REQUIRED", "Sign in.", { data: signIn });
      },
    },
  });
  const steps = createConnectionSteps({
    connections: { notes },
    keys,
    onEvent: { every: (event) => events.push(event) },
  });
  const { notes: opened } = await steps.sessions({ ...open, slots: {} });
  server.requests.length = 0;
  return { server, user, steps, events, slots: { notes: opened!.slot! } };
}

test("a required connection is asked when a run opens it, and fails the step if it is down", async () => {
  const { server, steps, slots } = await startSteps(true);
  await steps.sessions({ ...open, slots });
  expect(server.log).toEqual(["POST ping", "POST tools/list"]);
  server.intercept((_, response) => void response.writeHead(503).end());
  await expect(steps.sessions({ ...open, slots })).rejects.toMatchObject({
    code: "CONNECTION_UNAVAILABLE",
    data: { connection: "notes", status: 503 },
  });
});

test("another one is left out, with an event, and costs no request more", async () => {
  const { server, steps, slots, events } = await startSteps(false);
  await steps.sessions({ ...open, slots });
  expect(server.log).toEqual(["POST tools/list"]);
  server.intercept((_, response) => void response.writeHead(503).end());
  expect(await steps.sessions({ ...open, slots })).toEqual({});
  expect(events.map(({ type }) => type)).toContain("unavailable");
});

test.each([
  [true, { code: "AUTHORIZATION_REQUIRED", data: { ...signIn, connection: "notes" } }],
  [false, {}],
])("a user who has to sign in loses no session, required: %s", async (required, outcome) => {
  const { server, user, steps, slots, events } = await startSteps(required);
  user.isSignedIn = false;
  const opened = await steps.sessions({ ...open, slots }).catch((error: unknown) => error);
  expect(opened).toMatchObject(outcome);
  expect(opened).not.toHaveProperty("notes");
  const told = { type: "authorization-required", connection: "notes", ...signIn };
  expect(events.filter(({ type }) => type === told.type)).toMatchObject([told]);
  user.isSignedIn = true;
  await steps.sessions({ ...open, slots });
  expect(server.sessionIds).toHaveLength(1);
});

const valid = { connections: {}, keys };

test.each<[string, object, string]>([
  ["an unknown option", { ...valid, unheardOf: 1 }, "unheardOf"],
  ["a misspelt option", { ...valid, onEvnt: () => undefined }, "onEvnt"],
  ["keys that are none", { ...valid, keys: 5 }, "keys"],
  ["a store that is none", { ...valid, store: {} }, "store"],
  ["an empty agent", { ...valid, agent: "" }, "agent"],
  ["an onEvent that is none", { ...valid, onEvent: 5 }, "onEvent"],
  ["a clock that is none", { ...valid, now: 5 }, "now"],
  ...[Number.NaN, -1, 0.5, 2 ** 53, "1000"].map(
    (time) => [`a time of ${time}`, { ...valid, expiresInMs: time }, "expiresInMs"] as const,
  ),
] as [string, object, string][])("steps with %s are refused", (_, options, field) => {
  const refused = expect.objectContaining({ code: "CONNECTION_INVALID", data: { field } });
  expect(() => createConnectionSteps(options as never)).toThrow(refused);
});

const steps = { sessions: () => Promise.resolve({}), call: () => undefined };
const run = { connections: [], principal, steps };

test.each<[string, unknown, string]>([
  ["an unknown option", { ...run, unheardOf: 1 }, "unheardOf"],
  ["a misspelt option", { ...run, onUnavailble: "throw" }, "onUnavailble"],
  ["a name in the place of a list", { ...run, connections: "notes" }, "connections"],
  ["an empty sessionId", { ...run, sessionId: "" }, "sessionId"],
  ["steps without functions", { ...run, steps: {} }, "steps"],
  ["an unknown onUnavailable", { ...run, onUnavailable: "ignore" }, "onUnavailable"],
  ["no options", undefined, "options"],
])("a run with %s is refused", async (_, options, field) => {
  await expect(openDurableConnections(options as never)).rejects.toMatchObject({
    code: "CONNECTION_INVALID",
    data: { field },
  });
});
