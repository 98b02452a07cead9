import { fork } from "node:child_process"; import { once } from "node:events";
import { createResumedFetch } from "./session.ts";
import { measureSideBySide } from "./side-by-side.ts";
const server = fork(new URL("./mcp-server.ts", import.meta.url).pathname, { execArgv: [] });
const [port] = await once(server, "message");
const url = `http://127.0.0.1:${port}/json/image/200`;
const call = (f) => async () => { const r = await f(url, { method: "POST", headers: { "content-type": "application/json", accept: "application/json, text/event-stream" }, body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "x", arguments: {} } }) }); return r.text(); };
const p = call(fetch), s = call(createResumedFetch(url));
// steps in between
const asHeaders = call((u, i) => fetch(u, { ...i, headers: new Headers(new Headers(i.headers)), redirect: "manual" }));
const rewrap = call(async (u, i) => { const r = await fetch(u, i); const h = new Headers(r.headers); h.delete("content-length"); return new Response(r.body, { status: 200, headers: h }); });
const held = call(async (u, i) => { const r = await fetch(u, i); const rd = r.body.getReader(); const parts = []; return new Response(new ReadableStream({ async pull(c) { for (;;) { const { done, value } = await rd.read(); if (done) { for (const x of parts) c.enqueue(x); c.close(); return; } parts.push(value); } } }), { headers: r.headers }); });
const more = call((u, i) => fetch(u, { ...i, headers: { ...i.headers, "mcp-session-id": "benchmark-session", "mcp-protocol-version": "2025-11-25" } }));
if (process.argv[2] === "prof") { const f = process.argv[3] === "plain" ? p : s; for (let i = 0; i < 3000; i++) await f(); const {Session} = await import("node:inspector/promises"); const se = new Session(); se.connect(); await se.post("Profiler.enable"); await se.post("Profiler.setSamplingInterval", {interval: 100}); await se.post("Profiler.start"); const c0=process.cpuUsage(); for (let i = 0; i < 15000; i++) await f(); const c=process.cpuUsage(c0); console.log("cpu us/call", (c.user)/15000, c.system/15000); const { profile } = await se.post("Profiler.stop"); (await import("node:fs")).writeFileSync("/tmp/bm/" + process.argv[3] + ".json", JSON.stringify(profile)); }
else { const m = await measureSideBySide([["plain", p], ["plain2", p], ["asHeaders", asHeaders], ["more headers", more], ["rewrap", rewrap], ["held", held], ["session", s]].map(([name, f]) => ({ name, run: async () => { for (let i = 0; i < 20; i++) await f(); } })), 200);
for (const x of m) console.log(x.name.padEnd(14), (x.medianMs / 20).toFixed(4), (x.extraMs / 20).toFixed(4), x.ratio.toFixed(3)); }
server.kill();
