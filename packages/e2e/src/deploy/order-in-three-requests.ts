import type { ModelMessage } from "ai";
import { expect } from "vitest";
import type { AskingServer } from "../servers/asking.ts";
import type { ChatRequest } from "./order-chat.ts";

/** Has a request served by a process of its own, which finds what the others have left. */
export type Serve = (request: ChatRequest) => Promise<unknown>;

/** What the shop is to have in the end: one order. */
export const ordered = [{ item: "tea", time: "12:00" }];

/** A step whose tool asks a person, the answers, and the step that has the result. Gives the orders of the shop. */
export async function orderInThreeRequests(shop: AskingServer, serve: Serve): Promise<unknown> {
  const orders = shop.orders().length;
  const chatId = "chat";
  const messages: ModelMessage[] = [{ role: "user", content: "Order tea." }];
  const asked = (await serve({ chatId, messages })) as ModelMessage[];
  expect(asked.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
  expect(await serve({ chatId })).toEqual(["settled"]);
  const done = (await serve({ chatId, messages: asked })) as ModelMessage[];
  expect(JSON.stringify(done.at(-2))).toContain("tea comes at 12:00.");
  expect(JSON.stringify(done.at(-1))).toContain("It is ordered.");
  return shop.orders().slice(orders);
}
