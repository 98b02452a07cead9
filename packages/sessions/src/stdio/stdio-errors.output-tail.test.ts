import { expect, test } from "vitest";
import { secretScrubber } from "../events/scrub-secrets.ts";
import { createOutputTail, describeDropped } from "./stdio-errors.ts";

const as = (text: string) => text;

test("quotes nothing of a server that printed nothing", () => {
  expect(createOutputTail(as).quote()).toBe("");
});

test("quotes the last lines, however much was printed", () => {
  const tail = createOutputTail(as);
  for (let line = 0; line < 100_000; line += 1) tail.append(`line ${line}\n`);
  const lines = tail.quote().split("\n");
  expect(lines).toHaveLength(20);
  expect(lines.at(-1)).toBe("line 99999");
});

test("quotes the end of a line that has none", () => {
  const tail = createOutputTail(as);
  tail.append("x".repeat(1_000_000));
  expect(tail.quote()).toBe("x".repeat(2_000));
});

test("quotes no secret, also one that came in pieces or lies across the edge", () => {
  const secret = "s3cr3t-".repeat(400);
  const tail = createOutputTail(secretScrubber([secret]));
  tail.append(secret.slice(0, 100));
  tail.append(`${secret.slice(100)} was refused\n`);
  expect(tail.quote()).toBe("[redacted] was refused");
});

test("quotes no terminal codes and control characters", () => {
  const tail = createOutputTail(as);
  tail.append("\u001B[31mred\u001B[0m\u0007 \u001B]0;title\u0007\tend\r\n");
  expect(tail.quote()).toBe("red  \tend");
});

test("quotes in no time what many requests failed with, whatever it is", () => {
  const tail = createOutputTail(as);
  tail.append("\u001B]".repeat(8_000));
  for (let request = 0; request < 10_000; request += 1) tail.quote();
  tail.append("end");
  expect(tail.quote()).toContain("end");
});

test("costs little for each of many short lines", () => {
  const tail = createOutputTail(as);
  const begin = performance.now();
  for (let line = 0; line < 3_000_000; line += 1) tail.append("x\n");
  expect(performance.now() - begin).toBeLessThan(5_000);
});

test.each([
  ["[INFO] listening", "[INFO] listening\n"],
  ["{ config }", "{ config }\n"],
  ['{"jsonrpc":"2.0","result":"private"', "(a line dropped: why)\n"],
  [' [ {"result":"private"}', "(a line dropped: why)\n"],
  ['\uFEFF{"result":1}', "(a line dropped: why)\n"],
])("quotes of a dropped line %j: %j", (line, quoted) => {
  expect(describeDropped(Buffer.from(line), "why")).toBe(quoted);
});
