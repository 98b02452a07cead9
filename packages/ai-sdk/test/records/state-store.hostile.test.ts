import { sessionKey } from "@durable-mcp/core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { aliceKey } from "../saved-session.ts";
import { alice } from "../step.ts";
import { createConnectionProvider, defineMcpClientConnection } from "../../src/index.ts";
import { slotName } from "../../../sessions/src/records/step-slot.ts";

const connections = {
  notes: defineMcpClientConnection({
    url: "http://127.0.0.1:9/mcp",
    description: "A notebook.",
    session: "stateful",
  }),
};

const namedAliceKey = sessionKey({
  connection: slotName({ connection: "notes", name: "research" }),
  principal: alice,
});
const lost = { version: 1, kind: "sessionless", url: "http://127.0.0.1:9/mcp", lost: {} };

/** As JSON.parse makes it: `__proto__` becomes an own key. */
function defineKey(object: object, [key, value]: readonly [string, unknown]): object {
  const field = { value, enumerable: true, configurable: true, writable: true };
  return Object.defineProperty(object, key, field);
}

const key = fc.constantFrom(
  ...[
    "mcpSessions",
    aliceKey,
    namedAliceKey,
    "__proto__",
    "constructor",
    "prototype",
    "toJSON",
    "cart",
  ],
  ...["version", "kind", "url", "sessionId", "initializeResult", "clientCapabilities"],
  ...["snapshot", "startedAt", "lastUsedAt", "savedAt", "idleTimeoutMs", "ending"],
);
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { depthSize: "medium" },
    fc.constantFrom(null, 1, "session", "stateless", "http://127.0.0.1:9/mcp", "2025-11-25"),
    fc.array(tie("json"), { maxLength: 3 }),
    fc
      .array(fc.tuple(key, tie("json")), { maxLength: 5 })
      .map((entries) => entries.reduce(defineKey, {})),
  ),
}));
const state = fc.oneof(
  json,
  fc.tuple(json, json).map(([entry, cart]) => ({ cart, mcpSessions: { [aliceKey]: entry } })),
  fc.tuple(json, json).map(([entry, named]) => ({
    mcpSessions: { [aliceKey]: entry, [namedAliceKey]: named },
  })),
  json.map((more) => ({
    mcpSessions: {
      [namedAliceKey]: { version: 1, snapshot: lost, lastUsedAt: 1, ...(more as object) },
    },
  })),
  fc.anything(),
);

test("any state gives a run and comes back without what does not parse, and pollutes no prototype", async () => {
  const before = Reflect.ownKeys(Object.prototype);
  await fc.assert(
    fc.asyncProperty(state, async (value) => {
      const provider = createConnectionProvider({ connections });
      const session = { id: "s", state: value };
      const registry = provider.create({ state: value, principal: alice });
      for (const { connections: parts } of await registry.named.list()) {
        expect(parts).toMatchObject([{ connection: "notes" }]);
      }
      await registry.named.run("research", (own) => own.clearTools("notes")).catch(() => undefined);
      // Ends nothing: what would be a session has no server.
      await registry.named.end("research");
      expect(await registry.named.find("research")).toBeUndefined();
      await registry.dispose();
      const after = provider.commit(registry, session);
      // What is left of ours, if anything, is usable; committing again changes nothing.
      const again = provider.create({ state: after.state, principal: alice });
      await again.dispose();
      expect(provider.commit(again, after)).toBe(after);
      expect(after.id).toBe("s");
      expect(Reflect.ownKeys(Object.prototype)).toEqual(before);
      expect(({} as { version?: unknown }).version).toBeUndefined();
    }),
    { numRuns: 1_000 },
  );
});
