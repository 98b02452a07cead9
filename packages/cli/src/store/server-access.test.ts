import { afterEach, describe, expect, test, vi } from "vitest";
import { addHeader } from "../credentials.ts";
import { accessTo } from "./server-access.ts";

afterEach(() => vi.unstubAllEnvs());

const [one, other] = ["https://one.example", "https://other.example"] as const;
const asked = { isAsked: true, otherwise: "" };

describe("the servers that are told", () => {
  test("are those that a person sees in the question, unless some are named", () => {
    expect([...accessTo([one, other], {}, asked).origins]).toEqual([one, other]);
    expect(() => accessTo([one, other], { server: [one] }, asked)).toThrow(
      `--server is missing for ${other}`,
    );
    expect(() => accessTo([one], { server: ["one.example"] }, asked)).toThrow("must be a URL");
  });

  test("are one at a time with a token or a header, which the question tells of", () => {
    vi.stubEnv("DURABLE_MCP_BEARER", "a-secret");
    const access = accessTo([one], {}, asked);
    expect(access.headers).toEqual({ authorization: "Bearer a-secret" });
    expect(access.withWhat).toBe(" with its authorization");
    expect(() => accessTo([one, other], {}, asked)).toThrow(/for one server.*2/);
    expect(() => accessTo([one], { headerEnv: addHeader("X-Api-Key=NO_SUCH") }, asked)).toThrow(
      "NO_SUCH",
    );
  });
});
