import { expect, test } from "vitest";
import { errorOf } from "../../test/application.ts";
import { signedIn } from "../../test/signed-in.ts";

const day = 86_400_000;
const newKey = () => crypto.getRandomValues(new Uint8Array(32));

test("a key is not needed any more when each user has refreshed once under the next one", async () => {
  const [first, second] = [newKey(), newKey()];
  const { server, clock, app } = await signedIn({}, { keys: { current: first } });
  clock.offsetMs = day;
  const rotated = app.next({ keys: { current: second, previous: first } });
  expect(server.accepts((await rotated.getToken())?.token)).toBe(true);
  clock.offsetMs = 2 * day;
  const later = app.next({ keys: { current: second } });
  expect(server.accepts((await later.getToken())?.token)).toBe(true);
  expect(later.events).toEqual([{ type: "refreshed", connection: "notes" }]);
});

test("what was sealed under a key that is gone counts as absent, and the user signs in again", async () => {
  const { server, app } = await signedIn();
  const lost = app.next({ keys: { current: newKey() } });
  expect(await lost.getToken()).toBeUndefined();
  expect((await errorOf(lost.getToken({ refused: { status: 401 } }))).code).toBe(
    "AUTHORIZATION_REQUIRED",
  );
  expect(lost.events).toContainEqual({ type: "unreadable", reason: "unknown-key" });
  await lost.callback(server.consent(await lost.begin()));
  expect(server.accepts((await lost.getToken())?.token)).toBe(true);
});
