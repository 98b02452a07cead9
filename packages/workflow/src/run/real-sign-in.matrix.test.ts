import { defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createMemoryStore } from "@durable-mcp/core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callsOf } from "../../../sessions/test/calls-of.ts";
import {
  type AuthorizationServer,
  startAuthorizationServer,
} from "../../../e2e/src/authorization/authorization-server.ts";
import {
  type LockedServer,
  startLockedServer,
} from "../../../e2e/src/authorization/locked-server.ts";
import { createOAuth } from "../../../oauth/src/create-oauth.ts";
import { signInByHand } from "../../../oauth/test/scripted-user.ts";
import { sealed, setStepSettings, stored } from "../../test/app/connections.ts";
import { alice, textOf, useTestApp } from "../../test/test-app.ts";

const app = useTestApp();
const owner = { principal: alice };
const redirectUrl = "http://127.0.0.1:3999/oauth/callback";

let authorization: AuthorizationServer;
let locked: LockedServer;
beforeAll(async () => {
  authorization = await startAuthorizationServer();
  locked = await startLockedServer({ sdk: 1, issuer: authorization.issuer });
});
afterAll(() => Promise.all([locked?.stop(), authorization?.stop()]));

test.each([
  ["sealed", false],
  ["stored", true],
])(
  "a user signs in at a real authorization server, twice, and the run goes on, %s",
  async (sessionId, isStored) => {
    const steps = isStored ? stored : sealed;
    const runs: Record<string, string> = {};
    const oauth = createOAuth({
      ...{ store: createMemoryStore(), keys: { current: new Uint8Array(32) }, redirectUrl },
      async onSignedIn({ principal, sessionId: chat = "" }) {
        await steps.wake(runs[chat]!, { principal });
        return `/chat/${chat}`;
      },
    });
    const { url } = locked;
    const notes = { url, description: "Notes.", session: "stateful", auth: oauth } as const;
    setStepSettings({ notes: defineMcpClientConnection(notes) });

    const reason = `spring ${sessionId}`;
    const turns = [
      { tool: "notes__sign_in" },
      { tool: "notes__add_note", input: { text: reason } },
      { tool: "notes__delete_notes", input: { reason } },
    ].map((call, at) => [{ ...call, toolCallId: `${at}` }]);
    const run = await app.beginScripted({ connections: ["notes"], sessionId, isStored, turns });
    runs[sessionId] = run.runId;
    for (const tool of ["sign_in", "delete_notes"]) {
      const waiting = async () => await steps.waiting(run.runId, owner);
      await expect.poll(async () => callsOf(await waiting())).toMatchObject([{ tool, round: 0 }]);
      const [door] = await waiting();
      const { startUrl } = door as { startUrl: string };
      const start = await oauth.handler(new Request(startUrl), owner);
      const location = new URL(start.headers.get("location")!);
      const callback = await signInByHand(location, redirectUrl, "consent", sessionId);
      const { headers } = await oauth.handler(new Request(callback), owner);
      expect(headers.get("location")).toContain(`/chat/${sessionId}`);
    }
    const { results } = await run.returnValue;
    expect(results.flat().map(textOf)).toEqual([
      expect.stringContaining("The user has signed in"),
      "1 notes",
      "1 notes deleted",
    ]);
    // The note, and its end: once each.
    expect(locked.runs(reason)).toBe(2);
  },
);
