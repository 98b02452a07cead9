/**
 * `npm run lab -- chaos [--store sqlite|postgres|redis] [--rounds 1000] [--seed 7] [--lanes 3] [--watches 10]`: a chat a round, in real
 * processes that are killed and frozen, whose requests and store break at random. The seed, which is printed, gives the
 * whole schedule of each. Then watches, half a minute each, whose lookers are killed while they write. Exits with 1 when a call was lost, doubled, crossed or told wrong, or a chat did not go on.
 */
import { parseArgs } from "node:util";
import { storeNamed } from "../kill/command.ts";
import { runChaos } from "./chaos.ts";
import { runNews } from "./news.ts";

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "sqlite" },
    rounds: { type: "string", default: "1000" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 1e9)) },
    lanes: { type: "string", default: "3" },
    watches: { type: "string" },
  },
});
const store = storeNamed(values.store);
const [rounds, seed, lanes] = [values.rounds, values.seed, values.lanes].map(Number) as [
  number,
  number,
  number,
];
console.log(`${store}, ${rounds} rounds, seed ${seed}`);
const startedAt = Date.now();
process.setMaxListeners(0);
const { violations, steps, faults } = await runChaos({
  ...{ store, rounds, seed, lanes },
  onRound(round, found) {
    if (found.length > 0) console.error(`seed ${seed + round}: ${found.join("\n  ")}`);
    if (round % 100 === 99) process.stderr.write(`${round + 1} rounds\n`);
  },
});
for (const { seed: own, plan } of violations.slice(0, 3))
  console.error(
    `npm run lab -- chaos --store ${store} --rounds 1 --seed ${own}\n${JSON.stringify(plan)}`,
  );
const watches = Number(values.watches ?? Math.ceil(rounds / 100));
const news = await runNews({ store, rounds: watches, seed });
for (const { seed: own, faults: found } of news.violations)
  console.error(
    `npm run lab -- chaos --store ${store} --rounds 0 --watches 1 --seed ${own}\n${found.join("\n")}`,
  );
console.log(
  `${store}: ${watches} watches, ${news.entries} entries, ${news.kills} kills, ${news.restarts} restarts, ${news.violations.length} with violations`,
);
const seconds = Math.round((Date.now() - startedAt) / 1_000);
console.log(
  `${store}: ${rounds} rounds, ${steps} steps, ${faults} faults, ${violations.length} rounds with violations, ${seconds} s`,
);
process.exit(violations.length + news.violations.length === 0 ? 0 : 1);
