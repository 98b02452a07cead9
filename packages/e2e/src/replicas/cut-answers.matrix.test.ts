import { expect, test } from "vitest";
import { createRawClient, toolCall } from "../../../server/test/raw-client.ts";
import { openTestStore } from "../durable/store-place.ts";
import { availableStores } from "../faults/available-stores.ts";
import { startTcpProxy } from "../faults/tcp-proxy.ts";
import { notesServer } from "./notes-replicas.ts";

const rounds = 4;

// Whoever stores after the answer loses what the answer says, when the process dies in between.
test.each(availableStores)(
  "an answer that was written is stored, though its connection was cut and its replica killed (%s)",
  { concurrent: true, timeout: 120_000 },
  async (kind) => {
    const store = await openTestStore(kind);
    const replica = await notesServer(store.location).startReplica();
    const proxy = await startTcpProxy(Number(new URL(replica.url).port));
    try {
      const client = createRawClient(({ method, headers, body }) =>
        fetch(`http://127.0.0.1:${proxy.port}/mcp`, {
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
        await proxy.setMode("reset answers");
        await expect(
          client.post(id, toolCall(`cut ${round}`, "add_note", { text })),
        ).rejects.toThrow("fetch failed");
        await replica.restart();
        await proxy.setMode("pass");
        const { text: notes } = await client.call(id, "search_notes", { text: `${round}>` });
        expect(notes!.split("\n")).toEqual([
          expect.stringContaining(other),
          expect.stringContaining(text),
        ]);
      }
    } finally {
      await proxy.close();
      await replica.stop();
      await store.close();
    }
  },
);
