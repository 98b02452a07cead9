import { createAnswerTemplate } from "/work/main/packages/benchmarks/src/answers.ts";
import { createResumedFetch } from "/work/main/packages/benchmarks/src/session.ts";
import { measureSideBySide } from "/work/main/packages/benchmarks/src/side-by-side.ts";
const url = "http://localhost/mcp";
function memFetch(framing, result, size, chunk) {
  const t = createAnswerTemplate(framing, result, size);
  return async (_url, init) => {
    const bytes = new Uint8Array(t.withId(JSON.parse(init.body).id));
    let at = 0;
    const body = new ReadableStream({ pull(c) { if (at >= bytes.length) return c.close(); c.enqueue(bytes.subarray(at, at + chunk)); at += chunk; } }, {highWaterMark: 0});
    return new Response(body, { headers: { "content-type": t.contentType } });
  };
}
const rounds = Number(process.argv[2] ?? 200);
const call = (f) => { const init = () => ({ method: "POST", headers: { "content-type": "application/json", accept: "application/json, text/event-stream" }, body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "x", arguments: {} } }) });
  return async () => (await f(url, init())).text(); };
const callBytes = (f) => { const c = call(f); return async () => { const r = await f(url, { method: "POST", headers: { "content-type": "application/json", accept: "application/json, text/event-stream" }, body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "x", arguments: {} } }) }); const rd = r.body.getReader(); let n = 0; for (;;) { const { done, value } = await rd.read(); if (done) return n; n += value.length; } }; };
for (const framing of ["json", "sse"]) for (const [size, chunk] of [[1e6, 65536], [1e6, 16384], [1e6, 1460], [100, 65536]]) {
  const f = memFetch(framing, "image", size, chunk);
  const s = createResumedFetch(url, f);
  const m = await measureSideBySide([{ name: "plain", run: callBytes(f) }, { name: "session", run: callBytes(s) }], rounds);
  const n = await measureSideBySide([{ name: "plain", run: call(f) }, { name: "session", run: call(s) }], rounds);
  console.log(framing, size, chunk, "stream", m.map((x) => x.medianMs.toFixed(3)).join(" "), "extra", m[1].extraMs.toFixed(3), "| text()", n.map((x) => x.medianMs.toFixed(3)).join(" "), "extra", n[1].extraMs.toFixed(3));
}
