import { fork } from "node:child_process"; import { once } from "node:events";
import { createResumedFetch } from "./session.ts";
import { measureSideBySide } from "./side-by-side.ts";
const server = fork(new URL("./mcp-server.ts", import.meta.url).pathname, { execArgv: [] });
const [port] = await once(server, "message");
const call = (url, f, via) => async () => { const r = await f(url, { method: "POST", headers: { "content-type": "application/json", accept: "application/json, text/event-stream" }, body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "x", arguments: {} } }) });
 if (via === "text") return r.text(); const rd = r.body.getReader(); let n = 0, c = 0; for (;;) { const { done, value } = await rd.read(); if (done) return [n, c]; n += value.length; c++; } };
const wrap = async (u, i) => { const r = await fetch(u, i); const rd = r.body.getReader(); return new Response(new ReadableStream({ async pull(c) { const { done, value } = await rd.read(); if (done) c.close(); else c.enqueue(value); } }), { headers: r.headers }); };
const rounds = Number(process.argv[2] ?? 300);
for (const via of ["text", "stream"]) for (const framing of ["json", "sse"]) for (const size of [200, 1e5, 1e6, 4e6]) {
  const url = `http://127.0.0.1:${port}/${framing}/image/${size}`;
  console.log(via, framing, size, await call(url, fetch, "stream")());
  const m = await measureSideBySide([{ name: "plain", run: call(url, fetch, via) }, { name: "wrap", run: call(url, wrap, via) }, { name: "session", run: call(url, createResumedFetch(url), via) }], rounds);
  console.log("   ", m.map((x) => x.medianMs.toFixed(3)).join(" "), "extra wrap", m[1].extraMs.toFixed(3), "session", m[2].extraMs.toFixed(3));
}
server.kill();
