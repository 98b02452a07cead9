/**
 * `npm run demo:server`: one cart, filled by three clients of two protocol eras, through two replicas of one server. One
 * replica is killed in the middle of a call, the other one is drained, as in a deploy. Then a question and a task outlive
 * their replicas. `-- --json` is for programs.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createTemporaryFolder } from "../programs/temporary-folder.ts";
import { askAndWork } from "./ask-and-work.ts";
import { connectClients } from "./cart-clients.ts";
import { type CartReport, fillCart, findFaults } from "./cart-report.ts";
import { openReplicas, type Replica } from "./replicas.ts";

const { json } = parseArgs({ options: { json: { type: "boolean" } } }).values;
const startedAt = Date.now();
const say = (line: string) => json || console.log(line);

function tell(what: string): void {
  const seconds = ((Date.now() - startedAt) / 1_000).toFixed(1);
  say(`${seconds.padStart(6)} s  ${what}`);
}

say(`
Three clients fill the cart of one user, through two replicas of one server on one SQLite file.
Each request goes to the next replica.
`);
const replicas = await openReplicas(join(createTemporaryFolder(), "carts.db"));
const first = [await replicas.start(), await replicas.start()];
tell(`Replicas ${first.map(({ pid }) => pid).join(" and ")} serve.`);
const clients = await connectClients(replicas.url);
const told = clients.map(() => ({ answered: [] as string[], unknown: [] as string[] }));

await fill("oats");
await fill("tea", async (replica) => {
  await replicas.kill(replica);
  tell(`✂ Replica ${replica.pid} is killed (kill -9) in the middle of a call.`);
  tell(`  Replica ${(await replicas.start()).pid} takes its place.`);
});
const unknownBefore = count("unknown");
await fill("rice", async (replica) => {
  const { pid } = await replicas.start();
  await replicas.drain(replica);
  tell(
    `↻ Replica ${replica.pid} is told to go (SIGTERM) in the middle of a call. It ends its calls first.`,
  );
  tell(`  Replica ${pid} takes its place.`);
});

const reports: CartReport[] = [];
for (const [index, client] of clients.entries()) {
  const cart = await client.readItems();
  reports.push({ name: client.name, revision: client.revision, ...told[index]!, cart });
  await client.close();
}
const lasting = await askAndWork(replicas, async (replica, meanwhile) => {
  await replicas.kill(replica);
  tell(`✂ Replica ${replica.pid} is killed (kill -9). It ${meanwhile}.`);
  tell(`  Replica ${(await replicas.start()).pid} takes its place.`);
});
await replicas.end();
report();

/** Each client adds eight items, while something happens to the replica in which the sixth call has begun. */
async function fill(
  item: string,
  happens?: (inTheMiddle: Replica) => Promise<void>,
): Promise<void> {
  const meanwhile = happens && replicas.begun(6).then(happens);
  const added = await Promise.all(
    clients.map((client, index) => {
      const items = Array.from({ length: 8 }, (_, number) => `${item} ${index + 1}.${number + 1}`);
      return fillCart(client, items);
    }),
  );
  await meanwhile;
  const answered = added.reduce((sum, calls) => sum + calls.answered.length, 0);
  const unknown = added.reduce((sum, calls) => sum + calls.unknown.length, 0);
  for (const [index, calls] of added.entries()) {
    told[index]!.answered.push(...calls.answered);
    told[index]!.unknown.push(...calls.unknown);
  }
  const rest = unknown === 0 ? "" : `, ${unknown} with an unknown outcome`;
  tell(`${answered + unknown} calls have added ${item}: ${answered} answered${rest}.`);
}

function count(outcome: "answered" | "unknown"): number {
  return told.reduce((sum, calls) => sum + calls[outcome].length, 0);
}

function report(): void {
  const faults = [
    ...findFaults(reports),
    ...(unknownBefore === 0 ? ["The killed replica had no call."] : []),
    ...(count("unknown") > unknownBefore ? ["The drained replica lost a call."] : []),
    ...(lasting.asked === 1 && lasting.answered === "It is bought."
      ? []
      : ["The question was lost."]),
    ...(lasting.task === "settled" ? [] : ["The task was lost."]),
  ];
  if (json) console.log(JSON.stringify({ clients: reports, lasting, faults }));
  say(`
client                          revision    answered  outcome unknown  items in the cart
──────────────────────────────  ──────────  ────────  ───────────────  ─────────────────`);
  for (const { name: client, revision, ...calls } of reports) {
    const answered = String(calls.answered.length).padStart(8);
    const unknown = String(calls.unknown.length).padStart(15);
    const items = String(calls.cart.length).padStart(17);
    say(`${client.padEnd(30)}  ${revision}  ${answered}  ${unknown}  ${items}`);
  }
  const cart = reports[0]?.cart ?? [];
  const done = cart.length - count("answered");
  const verdict = `All three read the same cart. Each of the ${count("answered")} items whose call was answered is in it, once.
Calls that died with the killed replica: ${count("unknown")}. Their clients were told that the outcome is unknown;
${done} of them had been carried out. The drained replica lost no call, and no client had to start anew.

The person was asked once, and the answer went to another replica: “${lasting.answered}” The task was begun again
at another replica, as its tool allows, and is ${lasting.task}.`;
  say(`\n${faults.length === 0 ? verdict : faults.join("\n")}\n`);
  if (faults.length > 0) process.exitCode = 1;
}
