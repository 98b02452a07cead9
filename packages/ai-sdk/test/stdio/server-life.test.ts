import type { MCPClient } from "@ai-sdk/mcp";
import { expect, test } from "vitest";
import { createServerLife } from "../../../sessions/src/stdio/server-life.ts";

const client = (protocolVersion: string) =>
  ({ initializeResult: { protocolVersion, capabilities: {} } }) as unknown as MCPClient;

test("tells of a loss once, when another server has taken the lost one's place", () => {
  const life = createServerLife();
  life.opened(client("1"));
  life.ended();
  expect([life.isLost(), life.takeLossNotice()]).toEqual([true, false]);
  life.opened(client("1"));
  expect(life.isLost()).toBe(false);
  expect([life.takeLossNotice(), life.takeLossNotice()]).toEqual([true, false]);
});

test("tells once of a server that ended before it had answered anything", () => {
  const life = createServerLife();
  life.opened(client("1"));
  life.ended();
  expect(life.takeSecondLoss()).toBe(false);
  life.opened(client("1"));
  life.ended();
  expect([life.takeSecondLoss(), life.takeSecondLoss(), life.isLost()]).toEqual([
    true,
    false,
    true,
  ]);
});

test("takes a server that has answered for a good one", () => {
  const life = createServerLife();
  life.opened(client("1"));
  life.ended();
  life.opened(client("1"));
  life.answered();
  life.ended();
  expect([life.takeSecondLoss(), life.isLost()]).toEqual([false, true]);
});

test("says whether a server is another one than clients were told", () => {
  const life = createServerLife();
  expect(life.opened(client("1"))).toBe(false);
  expect(life.opened(client("1"))).toBe(false);
  expect(life.opened(client("2"))).toBe(true);
});
