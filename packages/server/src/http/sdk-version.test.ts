import { expect, test } from "vitest";
import { checkSdkVersion, installedSdkVersion } from "./sdk-version.ts";
import type { ServerSessionEvent } from "../base/server-event.ts";

function eventsFor(...version: [] | [string]): ServerSessionEvent[] {
  const events: ServerSessionEvent[] = [];
  checkSdkVersion((event) => void events.push(event), ...version);
  return events;
}

test("the installed SDK is in the tested range", () => {
  expect(installedSdkVersion()).toMatch(/^1\.\d+\.\d+$/);
  expect(eventsFor()).toEqual([]);
});

test.each(["1.32.2", "1.33.0", "1.100.1"])("%s is in it", (version) => {
  expect(eventsFor(version)).toEqual([]);
});

test.each(["1.32.1", "1.9.0", "2.0.0", "0.1.0", "nonsense"])(
  "%s is not, and it is said",
  (version) => {
    expect(eventsFor(version)).toEqual([{ type: "sdk-version", version, tested: ">=1.32.2 <2" }]);
  },
);
