#!/usr/bin/env bash
# Deno 2.9.6: `fetch` sends a POST with a text as its body a second time, if the server closes a kept-alive connection
# after it has read the request and before it answers. The caller sees one answer, 200, and nothing of the first. RFC 9110,
# 9.2.2, lets a client repeat only what it knows to be idempotent. Node's fetch rejects. A body that is a Blob goes once.
set -euo pipefail
folder=$(mktemp -d) && trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$folder"' EXIT && cd "$folder"
npm init -y >/dev/null && npm install --silent --no-audit --no-fund deno@2.9.6 >/dev/null
cat >server.mjs <<'JS'
import { createServer } from "node:http";
import { writeFileSync } from "node:fs";
const posts = {};
const server = createServer((request, response) => {
  request.resume().on("end", () => {
    if (request.method !== "POST") return response.end(JSON.stringify(posts));
    posts[request.url] = (posts[request.url] ?? 0) + 1;
    if (posts[request.url] === 1) request.socket.destroy();
    else response.end("done");
  });
}).listen(0, "127.0.0.1", () => writeFileSync("port", String(server.address().port)));
JS
cat >client.mjs <<'JS'
const [origin] = (globalThis.Deno?.args ?? process.argv.slice(2));
const post = async (path, body) => {
  await (await fetch(origin)).text(); // a connection that is kept
  return await fetch(origin + path, { method: "POST", body }).then(({ status }) => status, () => "an error");
};
const seen = { text: await post("/text", "x"), blob: await post("/blob", new Blob(["x"])) };
const arrived = await (await fetch(origin)).json();
for (const kind of ["text", "blob"]) console.log(`${kind}: arrived ${arrived[`/${kind}`]} times, the caller saw ${seen[kind]}`);
JS
node server.mjs & server=$!
until [ -s port ]; do sleep 0.1; done
echo "Deno" && node_modules/.bin/deno run --quiet --allow-net client.mjs "http://127.0.0.1:$(cat port)" | tee seen
grep -qx "text: arrived 2 times, the caller saw 200" seen
grep -qx "blob: arrived 1 times, the caller saw an error" seen
