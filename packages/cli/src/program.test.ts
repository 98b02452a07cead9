import { describe, expect, test } from "vitest";
import { runCli as run } from "../test/run-cli.ts";

describe("the program", () => {
  test("prints its help and its version", async () => {
    expect(await run("--version")).toEqual({ exitCode: 0, stdout: "1.2.3\n", stderr: "" });
    const help = await run("--help");
    expect(help).toMatchObject({ exitCode: 0, stderr: "" });
    expect(help.stdout).toContain("Exit codes");
  });

  test("ends with 2 on wrong usage, and says on stderr what is wrong", async () => {
    const seen = await run("--what");
    expect(seen).toMatchObject({ exitCode: 2, stdout: "" });
    expect(seen.stderr).toContain("--what");
  });

  test("writes nothing that a terminal obeys, whoever said it", async () => {
    const seen = await run("probe", "--\u001b]0;title\u0007\u009b2J\u202e\u061c");
    // oxlint-disable-next-line no-control-regex
    expect(seen.stderr).not.toMatch(/[\u001b\u0007\u009b\u202e\u061c]/);
    expect(seen.stderr).toContain("]0;title");
  });

  test.each([
    ["--header-env", "authorization=Bearer a-token-of-mine"],
    ["--env", "KEY=a-token-of-mine"],
  ])("does not repeat a secret that was given to %s", async (option, value) => {
    const seen = await run("probe", "https://mcp.example/mcp", option, value);
    expect(seen).toMatchObject({ exitCode: 2, stdout: "" });
    expect(seen.stderr).toContain(option);
    expect(seen.stderr).not.toContain("a-token-of-mine");
  });
});
