import { expect, test } from "vitest";
import { createServerSession } from "./server-session.ts";

test("a client without a session has no tasks, and is told why", () => {
  const client = { protocolVersion: "2026-07-28", clientCapabilities: {}, clientInfo: undefined };
  const state = {
    current: () => ({}),
    handle: () => "",
    update: async () => await Promise.reject(new Error()),
  };
  const session = createServerSession(client, state);
  expect(() => session.tasks).toThrow(
    expect.objectContaining({
      code: "STATE_INVALID",
      message: expect.stringContaining("2026-07-28"),
    }),
  );
});
