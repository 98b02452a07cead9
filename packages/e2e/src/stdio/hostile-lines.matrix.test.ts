import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { randomFromSeed } from "../replicas/random-from-seed.ts";
import { brokenAnswers, strayLines } from "./hostile-lines.ts";
import { callForText, callTool, openHostile, startHostile } from "./stdio-fixture.ts";

// An error thrown in a listener would end a program. Here it fails the run of the tests.
describe("lines that are no messages", () => {
  test("change nothing for the calls around them, whatever they are", async () => {
    await using fixture = await startHostile();
    const kinds = Object.keys(strayLines);
    for (const kind of kinds) {
      const input = { text: kind, strays: [[kind], []] };
      expect(await callForText(fixture.tools, "echo_between", input)).toBe(kind);
    }
    expect(Object.prototype).not.toHaveProperty("polluted");
  });

  test.each([1, 2, 3])("in any order, with calls at once (seed %d)", async (seed) => {
    await using fixture = await startHostile();
    const random = randomFromSeed(seed);
    const dice = (below: number) => Math.floor(random() * below);
    const kinds = Object.keys(strayLines).filter((kind) => !kind.includes("million"));
    const some = () => Array.from({ length: dice(3) }, () => kinds[dice(kinds.length)]);
    const texts = Array.from({ length: 60 }, (_, index) => `${seed}-${index}`);
    const answers = texts.map((text) =>
      callForText(fixture.tools, "echo_between", { text, strays: [some(), some()] }),
    );
    expect(await Promise.all(answers)).toEqual(texts);
  });

  test("are an event once for each reason, without their content", async () => {
    await using fixture = await startHostile();
    fixture.takeEvents();
    const strays = ["a banner", "a text", "for nobody: a deep error", "a deep notification"];
    await callTool(fixture.tools, "echo_between", { text: "", strays: [strays, []] });
    expect(fixture.takeEvents()).toEqual([
      { type: "line-dropped", connection: "fixture", reason: "not-a-message" },
      { type: "line-dropped", connection: "fixture", reason: "too-complex" },
    ]);
  });
});

describe("an answer that nobody can use", () => {
  test.each(Object.keys(brokenAnswers))(
    "fails its call at once, and no other: %s",
    async (kind) => {
      await using fixture = await startHostile();
      const { tools } = fixture;
      const broken = Promise.allSettled([callTool(tools, "answer_broken", { kind })]);
      expect(await callForText(tools, "echo_between", { text: "a", strays: [] })).toBe("a");
      const [outcome] = await broken;
      expect(outcome).toMatchObject({
        status: "rejected",
        reason: { code: "OUTCOME_UNKNOWN", data: { connection: "fixture", method: "tools/call" } },
      });
    },
  );

  test.each(["a deep result, id last", "neither result nor error", "no version"])(
    "fails the handshake: %s",
    async (kind) => {
      await using fixture = openHostile([kind]);
      await expect(fixture.registry.client("fixture")).rejects.toMatchObject({
        code: "CONNECTION_UNAVAILABLE",
        message: expect.stringContaining("did not accept the handshake: "),
      });
    },
  );
});

describe("a secret of env or args", () => {
  const secret = "s3cr3t-of-the-server";

  test("is in no error of the server, nor in its data, and in no notification", async () => {
    await using fixture = openHostile(["", `--api-key=${secret}-2`], { env: { KEY: secret } });
    const tools = await fixture.registry.tools({ onUnavailable: "throw" });
    const said = `refused ${secret} and ${secret}-2`;
    const refuse = callTool(tools, "refuse", { message: said, data: { [secret]: [{ said }] } });
    const error: any = await refuse.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error.message).toMatch(/^refused \[redacted\] and \[redacted\]/);
    expect(inspect(error, { depth: 20 })).not.toContain(secret);
    await callTool(tools, "echo_between", { text: "", notify: { [secret]: { said } } });
    expect(fixture.events.map(({ type }) => type)).toContain("notification");
    expect(inspect(fixture.events, { depth: 20 })).not.toContain(secret);
  });

  test("is not in the cause of a refused handshake", async () => {
    await using fixture = openHostile([`refuse:${secret}`], { env: { KEY: secret } });
    const error: any = await fixture.registry.client("fixture").catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "CONNECTION_UNAVAILABLE", cause: expect.any(Error) });
    expect(inspect(error, { depth: 20 })).not.toContain(secret);
    await using other = openHostile([`version:${secret}`], { env: { KEY: secret } });
    const wrong: any = await other.registry.client("fixture").catch((reason: unknown) => reason);
    expect(wrong).toMatchObject({ code: "CONNECTION_UNAVAILABLE", cause: expect.any(Error) });
    expect(inspect(wrong, { depth: 20 })).not.toContain(secret);
  });
});
