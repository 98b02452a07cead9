import { expect, test } from "vitest";
import { createHostCheck } from "@durable-mcp/core/internal";
import { servedFromWeb } from "./served-request.ts";

test("the Host of a Request made by hand is that of its URL", () => {
  const check = createHostCheck({});
  expect(check(servedFromWeb(new Request("http://localhost:3000/mcp")))).toBeUndefined();
  const other = servedFromWeb(new Request("http://evil.com/mcp"));
  expect(check(other)).toMatchObject({ reason: "host" });
});
