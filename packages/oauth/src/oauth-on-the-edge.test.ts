import { fileURLToPath } from "node:url";
import type * as core from "@durable-mcp/core";
import { EdgeRuntime } from "edge-runtime";
import { build } from "rolldown";
import { expect, test } from "vitest";
import { ada, redirectUrl } from "../test/application.ts";
import { startHandMadeServer } from "../test/hand-made-server.ts";
import type * as createOAuthModule from "./create-oauth.ts";

const entry = `
  export { createMemoryStore } from "@durable-mcp/core";
  export { createOAuth } from "./create-oauth.ts";
`;

/** All that an application needs, for Next's edge runtime. */
async function bundle() {
  const importer = fileURLToPath(new URL("entry.ts", import.meta.url));
  const { output } = await build({
    input: importer,
    platform: "browser",
    resolve: { conditionNames: ["@durable-mcp/source", "import", "edge-light", "browser"] },
    output: { format: "iife", name: "bundle" },
    plugins: [
      {
        name: "entry",
        resolveId: (id) => (id === importer ? id : undefined),
        load: (id) => (id === importer ? entry : undefined),
      },
    ],
    write: false,
    logLevel: "silent",
  });
  return output[0].code;
}

test("signs in, refreshes and signs out in an edge runtime", async () => {
  const runtime = new EdgeRuntime();
  runtime.evaluate(await bundle());
  const context = runtime.context as unknown as {
    bundle: typeof createOAuthModule & typeof core;
    Request: typeof Request;
  };
  const { createOAuth, createMemoryStore } = context.bundle;
  const server = await startHandMadeServer({ secretSeconds: 86_400 });
  let offsetMs = 0;
  const oauth = createOAuth({
    ...{ store: createMemoryStore(), redirectUrl, now: () => Date.now() + offsetMs },
    // This runtime has no CompressionStream, which sealed values need.
    keys: "store tokens unencrypted",
  });
  const use = { principal: ada, connection: "notes", url: server.url };
  await expect(oauth.getToken({ ...use, refused: { status: 401 } })).rejects.toMatchObject({
    code: "AUTHORIZATION_REQUIRED",
  });
  const { startUrl } = (await oauth.authorizationFor(use))!;
  const started = await oauth.start(new context.Request(startUrl), { principal: ada });
  const callback = server.consent(started.headers.get("location")!);
  const done = await oauth.callback(new context.Request(callback.href), { principal: ada });
  expect(await done.text()).toContain("You are signed in");
  const first = await oauth.getToken(use);
  offsetMs = 3_600_000;
  const second = await oauth.getToken(use);
  expect(second?.token).not.toBe(first?.token);
  expect(server.accepts(second?.token)).toBe(true);
  expect(await oauth.signOut(use)).toMatchObject([{ isRevoked: true }]);
});
