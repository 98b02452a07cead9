import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { expect, test } from "vitest";
import { createRawClient, readMessages } from "../../../server/test/raw-client.ts";
import { openTestStore } from "../durable/store-place.ts";
import { availableStores } from "../faults/available-stores.ts";
import { notesServer } from "./notes-replicas.ts";

const rounds = 4;

// Whoever stores after the answer loses what the answer says, when the process dies in between.
test.each(availableStores)(
  "an answer that was written is stored, though its connection was cut and its replica killed (%s)",
  { concurrent: true, timeout: 120_000 },
  async (kind) => {
    const store = await openTestStore(kind);
    const replica = await notesServer(store.location).startReplica();
    let cuts = false;
    let lost = "";
    const proxy = createServer((socket) => {
      const upstream = connect(Number(new URL(replica.url).port), "127.0.0.1");
      socket.on("data", (chunk) => upstream.write(chunk)).on("error", () => upstream.destroy());
      upstream.on("close", () => socket.destroy()).on("error", () => socket.destroy());
      upstream.on("data", (chunk) => {
        lost += chunk.toString();
        if (cuts && lost.includes("\ndata: {")) {
          replica.killAtOnce();
          socket.resetAndDestroy();
        } else socket.write(chunk);
      });
    });
    await once(proxy.listen(0, "127.0.0.1"), "listening");
    const { port } = proxy.address() as AddressInfo;
    try {
      const client = createRawClient(({ method, headers, body }) =>
        fetch(`http://127.0.0.1:${port}/mcp`, {
          method,
          headers,
          body: body && new Response(body).body,
          ...{ duplex: "half" },
        }),
      );
      const id = await client.initialize();
      for (let round = 1; round <= rounds; round += 1) {
        const [text, other] = [`<cut ${round}>`, `<answered ${round}>`];
        expect(await client.call(id, "add_note", { text: other })).toMatchObject({ status: 200 });
        [cuts, lost] = [true, ""];
        await expect(client.call(id, "add_note", { text })).rejects.toThrow(
          /fetch failed|terminated/,
        );
        cuts = false;
        await replica.restart();
        // With the id that it was sent with, a client asks for the answer.
        const [, eventId] = /^id: (\S+)$/m.exec(lost)!;
        const [again] = await readMessages(await client.get(id, eventId));
        const [, sent] = /^data: (\{.*\})$/m.exec(lost)!;
        expect(again?.message).toEqual(JSON.parse(sent!));
        const { text: notes } = await client.call(id, "search_notes", { text: `${round}>` });
        expect(notes!.split("\n")).toEqual([
          expect.stringContaining(other),
          expect.stringContaining(text),
        ]);
      }
    } finally {
      proxy.close();
      await replica.stop();
      await store.close();
    }
  },
);
