import { createSessionFetch, createSessionSlot, type SessionSnapshot } from "@durable-mcp/core";
import { expect } from "vitest";
import type { ForgottenAnswer } from "../../../core/test/forgotten-answers.ts";
import { createAiSdk1 } from "../clients/ai-sdk-1.ts";
import { createAiSdk2 } from "../clients/ai-sdk-2.ts";
import { createClient2 } from "../clients/client-2.ts";
import { connectOwnClient, type OwnClient, toolOutcome } from "../clients/own-client.ts";
import { createSdk1 } from "../clients/sdk-1.ts";
import { startForgetfulServer } from "./forgetful-server.ts";

export const clients = {
  "@ai-sdk/mcp 1": createAiSdk1,
  "@ai-sdk/mcp 2": createAiSdk2,
  "@modelcontextprotocol/sdk 1": createSdk1,
  "@modelcontextprotocol/client 2": createClient2,
};

export type ClientName = keyof typeof clients;

/** What a step does when the server has forgotten the session. */
export const uses = ["call", "list", "answer"] as const;

/** A step with a client of its own. Returns the snapshot for the next one. */
async function step(
  name: ClientName,
  url: string,
  snapshot: SessionSnapshot | undefined,
  use: (client: OwnClient, buy: (item: string) => Promise<string>) => Promise<void>,
): Promise<SessionSnapshot | undefined> {
  const slot = createSessionSlot(snapshot);
  // Calls of `@ai-sdk/mcp` list first: from what is kept.
  const fetch = createSessionFetch({ url, slot });
  const client = await connectOwnClient(clients[name], {
    ...{ url, fetch, acceptsForms: true, capabilities: { elicitation: { form: {} } } },
  });
  const buy = async (item: string) => {
    const { text, isError } = toolOutcome(await client.callTool("buy", { item }));
    return isError ? `failed: ${text}` : text;
  };
  try {
    await use(client, buy);
  } finally {
    await client.close();
    await slot.settle();
  }
  return slot.snapshot;
}

/** Three steps: the server forgets the session between the first two, or in the second. */
export async function expectOneBrokenStep(
  row: ForgottenAnswer,
  use: (typeof uses)[number],
  name: ClientName,
): Promise<void> {
  const server = await startForgetfulServer(row);
  const { url, ledger } = server;
  let snapshot = await step(name, url, undefined, async (client, buy) => {
    if (use !== "list") await client.listTools();
    if (use !== "list") expect(await buy("first")).toBe("first");
  });
  expect(snapshot).toMatchObject({ kind: "session" });
  if (use === "answer") server.forgetWhenAsked();
  else server.forget();

  snapshot = await step(name, url, snapshot, async (client, buy) => {
    if (use === "list") expect(await client.listTools()).toHaveLength(2);
    else if (use === "answer") {
      await expect(client.callTool("ask", { item: "asked" })).rejects.toBeInstanceOf(Error);
    } else {
      const bought = await buy("second").catch((error: unknown) => {
        const { code, data } = error as { code?: unknown; data?: { code?: unknown } };
        const cause = (error as { cause?: { code?: unknown } }).cause?.code;
        return [code, data?.code, cause].includes("OUTCOME_UNKNOWN") ? "unknown" : String(error);
      });
      const expected = { again: "second", unknown: "unknown", result: "failed: Session not found" };
      expect(bought).toBe(expected[row.call]);
    }
    expect(await buy("third")).toBe("third");
  });
  // What is new is kept, and works at once.
  const before = server.log.length;
  await step(name, url, snapshot, async (client, buy) => {
    if (use === "list") expect(await client.listTools()).toHaveLength(2);
    expect(await buy("fourth")).toBe("fourth");
  });
  const sent = server.log.slice(before);
  if (!row.isSessionless)
    expect(sent.filter((method) => method !== "tools/list")).toEqual(["tools/call"]);
  expect(sent).not.toContain("ping");
  const second = { call: ["second"], list: [], answer: row.call === "again" ? [] : ["asked"] };
  const first = use === "list" ? [] : ["first"];
  expect(ledger).toEqual([...first, ...second[use], "third", "fourth"]);
}
