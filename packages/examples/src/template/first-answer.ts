import assert from "node:assert/strict";

/** What the chat answers to the first message of a new user, who opens the page without a browser. */
export async function firstAnswer(url: string, text: string): Promise<string> {
  const welcomed = await fetch(url, { redirect: "manual" });
  const headers = { cookie: welcomed.headers.getSetCookie()[0]?.replace(/;.*/, "") ?? "" };
  const path = new URL(welcomed.headers.get("location") ?? "", url).pathname;
  const page = await fetch(new URL(path, url), { headers });
  assert.equal(page.status, 200);
  assert.match(await page.text(), /What shall the tea shop do\?/);

  const message = { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] };
  const answer = await fetch(new URL(`/api${path}`, url), {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({ message }),
  });
  assert.equal(answer.status, 200);
  const deltas = (await answer.text()).matchAll(/"type":"text-delta".*?"delta":"(.*?)"/g);
  const said = [...deltas].map(([, delta]) => delta).join("");
  assert.equal(said, "The cart holds honey.");
  return said;
}
