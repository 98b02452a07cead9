import { clientNames } from "../clients/index.ts";
import { presentServers } from "./present-servers.ts";
import { extraServers } from "./extra-servers.ts";
import { visitServer } from "./visit-server.ts";
import { describeRefusal } from "./refusal.ts";
const only = process.argv[2];
for (const s of [...presentServers, ...extraServers].filter((x) => !only || x.name.includes(only))) {
  const t = Date.now();
  const r = await visitServer(s, process.argv[3] ? clientNames.filter(c => c.startsWith(process.argv[3]!)) : clientNames);
  console.log(s.name, Date.now() - t, "ms");
  if (r.refusals) for (const k of ["unknown", "ended", "restarted"] as const) console.log("  ", k, describeRefusal(r.refusals[k]), r.refusals[k].loss);
  for (const [c, m] of r.seen) for (const [n, o] of m) console.log("  ", c, "|", n, "|", o.outcome, "|", o.requests, o.calls, o.detail ?? "");
  console.log(r.surprises.join("\n"));
}
