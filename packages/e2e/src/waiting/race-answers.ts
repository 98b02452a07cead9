import { waitingCallOf } from "@durable-mcp/core/waiting";
import { forkProgram } from "../durable/fork-program.ts";
import { openStoreAt, startStorePlace, type StoreKind } from "../durable/store-place.ts";
import { startAskingServer } from "../servers/asking.ts";
import type { RacerReport, RacerTask } from "./racer-protocol.ts";
import { createShop, order, principal } from "./waiting-shop.ts";

/** Two processes answer the same question at once, `rounds` times. */
export async function raceAnswers({ store: kind, rounds }: { store: StoreKind; rounds: number }) {
  const { remove, ...place } = await startStorePlace(kind);
  const server = await startAskingServer();
  const { store, close } = await openStoreAt(place);
  const program = new URL("racer-program.ts", import.meta.url);
  const racers = [1, 2].map(() => forkProgram<RacerTask, RacerReport>(program));
  const faults: string[] = [];
  let legs = 0;
  let refused = 0;
  try {
    for (const racer of racers) {
      await racer.receive();
      racer.send({ type: "start", place, url: server.url });
    }
    const shop = createShop({ url: server.url, store });
    for (let round = 1; round <= rounds; round += 1) {
      const sessionId = `race-${round}.`;
      const { id } = waitingCallOf(await order(shop, sessionId))!;
      // Each of them has loaded the call when both are told to go.
      for (const racer of racers) racer.send({ type: "race", sessionId, id });
      await Promise.all(racers.map((racer) => racer.receive()));
      for (const racer of racers) racer.send({ type: "go" });
      const outcomes = (await Promise.all(racers.map((racer) => racer.receive()))).map((report) =>
        report.type === "done" ? report.outcome : report.type,
      );
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
    await Promise.all(racers.map((racer) => racer.kill()));
    await close?.();
    await server.stop();
    await remove();
  }
}
