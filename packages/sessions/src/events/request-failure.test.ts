import { expect, test } from "vitest";
import { requestFailure } from "./request-failure.ts";

/** As the official SDK's. */
const clientError = (code: unknown) => Object.assign(new Error("Error POSTing"), { code });

test.each([
  [300, 300],
  [599, 599],
  [299, undefined],
  [600, undefined],
  [404.5, undefined],
  ["404", undefined],
])(
  "of the codes of a client's errors only statuses of refusals are statuses: %s",
  (code, status) => {
    expect(requestFailure(clientError(code))?.status).toBe(status);
  },
);

test("the code of a time-out is no status", () => {
  const error = new DOMException("The operation timed out.", "TimeoutError");
  expect(error.code).toBe(23);
  expect(requestFailure(error)).toMatchObject({ reason: "timeout", mayHaveRun: true });
  expect(requestFailure(error)).not.toHaveProperty("status");
});
