import { waitingCallOf } from "@durable-mcp/core/waiting";
import { openStoreAt, startStorePlace, type StoreKind } from "../durable/store-place.ts";
import { startAskingServer } from "../servers/asking.ts";
import { startModule } from "../processes/start-module.ts";
import type { RacedAnswer } from "./racer-program.ts";
import { createShop, order, principal } from "./waiting-shop.ts";

/** Two processes answer the same question at once, `rounds` times. */
export async function raceAnswers({ store: kind, rounds }: { store: StoreKind; rounds: number }) {
  const { remove, ...place } = await startStorePlace(kind);
  const server = await startAskingServer();
  const { store, close } = await openStoreAt(place);
  const program = new URL("racer-program.ts", import.meta.url);
  const faults: string[] = [];
  let legs = 0;
  let refused = 0;
  try {
    const shop = createShop({ url: server.url, store });
    for (let round = 1; round <= rounds; round += 1) {
      const sessionId = `race-${round}.`;
      const { id } = waitingCallOf(await order(shop, sessionId))!;
      const input = { place, url: server.url, sessionId, id };
      const start = () => startModule<RacedAnswer, string>(program, { input });
      const racers = await Promise.all([start(), start()]);
      // Both have read the call, and each is about to claim it.
      await Promise.all(racers.map((racer) => racer.freeze({ at: "before-save" })));
      for (const racer of racers) racer.resume();
      const ended = await Promise.all(racers.map((racer) => racer.finish()));
      const outcomes = ended.map(({ output }) => output);
      const sent = server
        .journal()
        .filter(
          (line) => line.includes(`"${sessionId}"`) && line.includes('"inputResponses"'),
        ).length;
      legs += sent;
      refused += outcomes.filter((outcome) => outcome === "NOT_WAITING").length;
      if (sent !== 1) faults.push(`${sessionId} ${sent} legs were sent`);
      if (outcomes.toSorted().join() !== "NOT_WAITING,waiting") {
        faults.push(`${sessionId} the answers ended as ${outcomes.join(" and ")}`);
      }
      await shop.end(sessionId, { principal });
    }
    return { legs, refused, faults };
  } finally {
    await close?.();
    await server.stop();
    await remove();
  }
}
