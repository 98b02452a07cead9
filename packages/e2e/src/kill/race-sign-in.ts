/**
 * `npm run lab -- race-sign-in --store sqlite|postgres|redis --times 200 --processes 20 --registrations 10 --early 20 [--dpop]`: so
 * many living processes meet an expired token at once, as often as said; then a new authorization server; then they send
 * requests all the time, for `--early` lives of a token. Prints how often they refreshed and registered.
 */
import { printFaults, readKillOptions } from "./command.ts";
import { refreshEarly } from "../authorization/early-refreshes.ts";
import { raceRefreshes } from "../authorization/race-refreshes.ts";
import { raceRegistrations } from "../authorization/race-registrations.ts";

const { store, times, processes, registrations, early } = readKillOptions({
  ...{ times: 200, processes: 20, registrations: 0, early: 0 },
});
if (times > 0) {
  const { rounds, refreshes, answered, slowestMs, faults } = await raceRefreshes({
    ...{ store, processes, times },
  });
  console.log(
    `${store}, ${processes} processes with an expired token, ${rounds} times: ${refreshes} refreshes, ${answered} requests answered, the slowest in ${slowestMs} ms, ${faults.length} faults`,
  );
  printFaults(faults);
}
if (registrations > 0) {
  const raced = await raceRegistrations({ store, processes, times: registrations });
  console.log(
    `${store}, ${processes} processes with a new authorization server, ${registrations} times: ${raced.registrations} registrations, ${raced.signIns} sign-ins, ${raced.faults.length} faults`,
  );
  printFaults(raced.faults);
}
if (early > 0) {
  const { requests, tokens, refreshes, faults, ...spans } = await refreshEarly({
    ...{ store, processes, lives: early },
  });
  console.log(
    `${store}, ${processes} processes under load for ${early} lives of a token: ${requests} requests, ${tokens} tokens, ${refreshes} refreshes, ${spans.shortestLifeMs} to ${spans.longestLifeMs} ms apart, ${spans.stale} got after their end, the slowest request ${spans.slowestMs} ms, ${spans.refused} were late and sent again, ${faults.length} faults`,
  );
  printFaults(faults);
}
