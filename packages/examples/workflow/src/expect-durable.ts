import { expect } from "vitest";

/** One session a server, in two processes of the host and many of the steps. */
export function expectDurable(durable: any, withBrowser: boolean): void {
  const seen = { initialize: 1, "notifications/initialized": 1, "tools/list": 1, "tools/call": 4 };
  expect(durable).toMatchObject({ hosts: 2, cart: seen });
  expect(durable.cartAtTheEnd).toBe("The cart holds apples, bread, milk.");
  expect(durable.stepProcesses).toBeGreaterThanOrEqual(5);
  expect(durable.browser).toEqual(withBrowser ? seen : undefined);
  expect(durable.orders).toEqual(withBrowser ? [{ name: "Ada", drink: "tea" }] : []);
}
