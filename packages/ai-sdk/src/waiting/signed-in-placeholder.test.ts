/** A process is killed while it sends a call after its sign-in: nobody asks the user to sign in again. */

import type { JsonValue } from "@durable-mcp/core";
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { addNote, parkCalls, startLockedNotebook, use } from "../../test/sign-in-application.ts";

test("the placeholder says that the call is being sent, and asks for a sign-in when it waits again", async () => {
  const app = await startLockedNotebook();
  const messages = await parkCalls(app, [addNote("milk")]);
  const [, call] = await app.waiting();
  await app.signIn();
  const set = async (state: "answering" | "waiting") => {
    const { records } = await app.store.list({ prefix: "", limit: 100 });
    const { key, value, owner, revision } = records.find(
      (each) => (each.value as { id?: unknown }).id === call!.id,
    )!;
    const claimed = { ...(value as object), state, claim: { token: "t", at: Date.now() } };
    await app.store.put(key, claimed as JsonValue, revision, { owner });
  };
  const ui = (output: unknown) =>
    ({
      ...{ id: "1", role: "assistant" },
      parts: [
        {
          ...{ type: "dynamic-tool", toolName: "work__add_note", state: "output-available" },
          ...{ toolCallId: "", input: { text: "milk" }, output },
        },
      ],
    }) as UIMessage;
  const resume = async <MESSAGE>(given: readonly MESSAGE[]) =>
    await app.sessions().run("chat", use, async (run) => {
      const resumed = await run.waiting.resume(given, { tools: await run.tools() });
      return [JSON.stringify(resumed.messages), resumed.goesOn] as const;
    });
  const placeholder = { _meta: { "durable-mcp/waiting": call }, content: [] };
  const part = messages.at(-1)!.content[0] as { toolCallId: string };
  const page = ui(placeholder);
  (page.parts[0] as { toolCallId: string }).toolCallId = part.toolCallId;

  await set("answering");
  for (const [text, goesOn] of [await resume(messages), await resume([page])]) {
    expect(text).toContain("the user has signed in to connection work, and a process sends it, or");
    expect(text).not.toContain("Ask the user");
    expect(goesOn).toBe(false);
  }
  app.signIns.revokeAll();
  await set("waiting");
  for (const [text] of [await resume(messages), await resume([page])])
    expect(text).toContain("Ask the user to sign in");
});
