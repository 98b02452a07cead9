import { expect, test, vi } from "vitest";
import { ada, createApplication, redirectUrl } from "../test/application.ts";
import { startHandMadeServer } from "../test/hand-made-server.ts";
import { createOAuth } from "./create-oauth.ts";
import type { OAuthOptions } from "./oauth-options.ts";

async function startQuiet(options: Partial<OAuthOptions> = {}) {
  const server = await startHandMadeServer();
  const { store, use } = createApplication({ url: server.url });
  const oauth = createOAuth({ store, keys: "store tokens unencrypted", redirectUrl, ...options });
  const begin = async () => await oauth.start(new Request(redirectUrl), use);
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  return { server, oauth, begin, warn };
}

test("without an observer the console says why a sign-in did not begin, once", async () => {
  const { server, begin, warn } = await startQuiet();
  server.rules.metadata = { registration_endpoint: undefined };
  expect((await begin()).status).toBe(502);
  expect((await begin()).status).toBe(502);
  expect(warn.mock.calls).toEqual([
    [
      expect.stringMatching(
        /not-started.*give it in `clients`, or set clientMetadataUrl.*said once/,
      ),
    ],
  ]);
});

test("and that the application's own allowIssuers failed", async () => {
  const { begin, warn } = await startQuiet({
    allowIssuers: () => {
      throw new Error("There is no such tenant");
    },
  });
  expect((await begin()).status).toBe(502);
  expect(warn.mock.calls).toEqual([
    [expect.stringMatching(/not-started.*allowIssuers failed: There is no such tenant/)],
  ]);
});

test("and why one was refused, but nothing where all is well", async () => {
  const { server, oauth, begin, warn } = await startQuiet();
  const location = (await begin()).headers.get("location")!;
  expect(warn).not.toHaveBeenCalled();
  const url = new URL(server.consent(location));
  url.searchParams.delete("code");
  url.searchParams.set("error", "invalid_scope");
  await oauth.callback(new Request(url), { principal: ada });
  expect(warn.mock.calls).toEqual([[expect.stringMatching(/denied.*invalid_scope/)]]);
});
