import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { page } from "./page.ts";

test("shows words as text", async () => {
  const response = await page(400, { title: `<i>"&'`, text: "<script>alert(1)</script>" });
  const html = await response.text();
  expect(html).toContain("<title>&lt;i&gt;&quot;&amp;&#39;</title>");
  expect(html).toContain("<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>");
});

test("allows its own style alone", async () => {
  const response = await page(200, { title: "Done", text: "It is done." });
  const [, style] = /<style>(.*)<\/style>/.exec(await response.text())!;
  const hash = createHash("sha256").update(style!).digest("base64");
  const policy = response.headers.get("content-security-policy");
  expect(policy).toContain(`style-src 'sha256-${hash}';`);
});
