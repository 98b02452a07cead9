import { fork } from "node:child_process";
import { once } from "node:events";
import { callMany, startMeasured, stopMeasured } from "./measured.ts";
const ms = {};
for (const kind of ["gateway", "shared", "mcp-proxy", "supergateway"])
  ms[kind] = await startMeasured("before-program.ts", kind);
const N = +(process.argv[2] ?? 1);
for (const k in ms) await callMany(ms[k], N, 800);
const r = {};
for (let i = 0; i < 9; i++)
  for (const k in ms) {
    const t = performance.now();
    await callMany(ms[k], N, 300);
    (r[k] ??= []).push((performance.now() - t) / 300);
  }
for (const k in r)
  console.log(
    k,
    "ms/call",
    r[k]
      .sort((a, b) => a - b)
      .map((x) => x.toFixed(2))
      .join(" "),
  );
for (const k in ms) await stopMeasured(ms[k]);
process.exit();
