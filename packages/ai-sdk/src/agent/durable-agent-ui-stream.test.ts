import type { UIMessage } from "ai";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { isInUse } from "../../test/counted-sessions.ts";
import {
  add,
  options,
  startNotebookSessions,
  toolApproval,
  wait,
} from "../../test/notebook-sessions.ts";
import { scriptedModel, toolResults, type Turn } from "@durable-mcp/testing/ai-sdk";
import { takeAnswer } from "../../test/ui-chunks.ts";
import { createDurableAgent } from "./durable-agent.ts";
import { createDurableAgentUIStreamResponse } from "./durable-agent-ui-stream.ts";

const ask = (text: string): UIMessage => ({
  id: crypto.randomUUID(),
  role: "user",
  parts: [{ type: "text", text }],
});

/** A chat as a browser has it: the messages go to the server and back as JSON. */
async function startChat() {
  const { server, sessions, leases, releases } = await startNotebookSessions();
  const messages: UIMessage[] = [];
  const post = async (abortSignal: AbortSignal, ...turns: Turn[]) => {
    const model = scriptedModel(...turns);
    const agent = createDurableAgent({ sessions, model, toolApproval });
    const uiMessages = JSON.parse(JSON.stringify(messages)) as unknown[];
    const response = await createDurableAgentUIStreamResponse({
      agent,
      uiMessages,
      options,
      abortSignal,
    });
    return { model, response };
  };
  return {
    server,
    sessions,
    messages,
    post,
    /** Sends the messages and adds the answer to them. Gives what the model was told of its calls. */
    async send(...turns: Turn[]) {
      const { model, response } = await post(new AbortController().signal, ...turns);
      await takeAnswer(messages, response);
      return toolResults(model);
    },
    expectReleased: async (count: number) => {
      await vi.waitFor(() => expect(releases).toHaveLength(count));
      expect(leases).toHaveLength(count);
      for (const lease of leases) expect(await isInUse(lease)).toBe(false);
    },
  };
}

describe("a stream of UI messages", () => {
  test("shows the model results of earlier requests as in the run that they come from", async () => {
    const chat = await startChat();
    chat.messages.push(ask("Note a."));
    const inRun = await chat.send([add("a")], "Noted.");
    await chat.expectReleased(1);
    chat.messages.push(ask("Note c."));
    const later = await chat.send([add("c")], "Noted.");
    await chat.expectReleased(2);
    expect(inRun).toEqual(["1 notes"]);
    expect(later).toEqual(["1 notes", "2 notes"]);
    expect(chat.server.sessionIds).toHaveLength(1);
  });

  test("carries out what was approved, in the session of the request that asked", async () => {
    const chat = await startChat();
    chat.messages.push(ask("Note a, then b."));
    await chat.send([add("a")], [add("b")]);
    await chat.expectReleased(1);
    const pending = chat.messages.at(-1)!.parts.at(-1)!;
    expect(pending).toMatchObject({ state: "approval-requested" });
    Object.assign(pending, {
      state: "approval-responded",
      approval: { ...(pending as { approval: object }).approval, approved: true },
    });
    expect((await chat.send("Noted.")).at(-1)).toBe("2 notes");
    await chat.expectReleased(2);
    expect(chat.messages.at(-1)!.parts.at(-1)).toMatchObject({ type: "text", text: "Noted." });
    expect(chat.server.sessionIds).toHaveLength(1);
  });

  test("is released when its request is aborted", async () => {
    const chat = await startChat();
    chat.messages.push(ask("Wait."));
    const controller = new AbortController();
    const { response } = await chat.post(controller.signal, [wait], "Done.");
    await vi.waitFor(() => expect(chat.server.waits).toEqual(["started"]));
    controller.abort();
    await chat.expectReleased(1);
    await response.body?.cancel();
    await vi.waitFor(() => expect(chat.server.waits).toEqual(["started", "aborted"]));
  });

  test("is released when the messages are none", async () => {
    const chat = await startChat();
    chat.messages.push({ role: "nobody" } as unknown as UIMessage);
    await expect(chat.post(new AbortController().signal, "Done.")).rejects.toThrow(
      /validation failed/i,
    );
    await chat.expectReleased(1);
  });

  test("is refused when the agent's own call options are missing", async () => {
    const { sessions } = await startChat();
    const agent = createDurableAgent({
      sessions,
      model: scriptedModel("Done."),
      callOptionsSchema: z.object({ tone: z.string() }),
    });
    const respond = (call: object) =>
      createDurableAgentUIStreamResponse({
        agent,
        uiMessages: [ask("Note a.")],
        options: call as typeof options & { tone: string },
      });
    await expect(respond(options)).rejects.toThrow(/options/);
    expect((await respond({ ...options, tone: "kind" })).status).toBe(200);
  });
});
