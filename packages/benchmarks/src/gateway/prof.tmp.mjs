import { fork } from "node:child_process";
import { once } from "node:events";
import { callMany, measureRound } from "./measured.ts";
import { fileURLToPath } from "node:url";
import { readdirSync, readFileSync } from "node:fs";
const kind = process.argv[2];
const calls = Number(process.argv[3] ?? 4000);
const child = fork(fileURLToPath(new URL("before-program.ts", import.meta.url)), [kind], {
  execArgv: [
    "--disable-warning=ExperimentalWarning",
    ...(process.argv[4] ? ["--cpu-prof", "--cpu-prof-dir=/tmp/f56/prof-" + kind] : []),
  ],
  stdio: ["ignore", "ignore", "inherit", "ipc"],
});
const [port] = await once(child, "message");
const m = { child, port, callers: [], callsPerSecond: [], cpuMs: [] };
await callMany(m, 8, 2000);
for (let i = 0; i < Math.ceil(calls / 1000); i++) await measureRound(m, 8, 1000);
const stat = (pid) => {
  const f = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (+f[11] + +f[12]) * 10;
};
const kids = readdirSync(`/proc/${child.pid}/task`).flatMap((t) =>
  readFileSync(`/proc/${child.pid}/task/${t}/children`, "utf8").trim().split(" ").filter(Boolean),
);
console.log(
  kind,
  "cps",
  m.callsPerSecond.map(Math.round).join(" "),
  "cpu",
  m.cpuMs.map((x) => x.toFixed(2)).join(" "),
);
console.log(
  "own cpu total ms",
  stat(child.pid),
  "kids",
  kids.map((k) => k + ":" + stat(k)).join(" "),
);
const e = once(child, "exit");
child.disconnect();
await e;
process.exit();
