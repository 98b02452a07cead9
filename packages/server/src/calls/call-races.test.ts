import { AsyncLocalStorage } from "node:async_hooks";
import { expect, test } from "vitest";
import { z } from "zod";
import {
  cancellation,
  readMessages,
  takeEventId,
  takeEvents,
  toolCall,
} from "../../test/raw-client.ts";
import { startSession, startTwo } from "../../test/replicas.ts";

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });

test("a batch whose other request is cancelled while an answer is stored ends with that answer", async () => {
  const { client, control, id } = await startSession({}, {}, "2025-03-26");
  const stored = Promise.withResolvers<void>();
  const storing = Promise.withResolvers<void>();
  control.interfere = async (operation, run, keys) => {
    if (operation === "batch" && keys.includes('"messages"')) {
      storing.resolve();
      await stored.promise;
    }
    return await run();
  };
  const response = await client.post(id, [toolCall(1, "hang"), toolCall(2, "list")]);
  await storing.promise;
  await client.post(id, cancellation(1));
  stored.resolve();
  expect((await readMessages(response)).map(({ message }) => message.id)).toEqual([2]);
});

test("what one request of a batch says while another is answered comes after that answer", async () => {
  const said = Promise.withResolvers<void>();
  const { client, control, id } = await startSession(
    {
      setUp: (mcp) => {
        mcp.registerTool("say", {}, (async (extra: Extra) => {
          await said.promise;
          await extra.sendNotification({
            method: "notifications/message",
            params: { level: "info", data: "said" },
          });
          return text("over");
        }) as never);
      },
    },
    {},
    "2025-03-26",
  );
  let isFirst = true;
  control.interfere = async (operation, run, keys) => {
    if (operation === "batch" && keys.includes('"messages"') && isFirst) {
      isFirst = false;
      said.resolve();
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    return await run();
  };
  const response = await client.post(id, [toolCall(1, "say"), toolCall(2, "list")]);
  const messages = await readMessages(response);
  expect(messages.map(({ message }) => message.id ?? message.params?.["data"])).toEqual([
    2,
    "said",
    1,
  ]);
  // Whoever breaks off after any of them gets the rest, and nothing twice.
  for (const [index, { eventId }] of messages.slice(0, 2).entries()) {
    const rest = await readMessages(await client.get(id, eventId));
    expect(rest).toEqual(messages.slice(index + 1));
  }
});

test.each([
  ["one request", "2025-11-25"],
  ["a batch", "2025-03-26"],
])("an answer is stored after the messages before it: %s", async (_what, version) => {
  const { client, control, id } = await startSession(
    {
      setUp: (mcp) => {
        mcp.registerTool("say", {}, (async (extra: Extra) => {
          const params = { level: "info", data: "said" };
          await extra.sendNotification({ method: "notifications/message", params });
          await new Promise((resolve) => setTimeout(resolve, 15));
          return text("over");
        }) as never);
      },
    },
    {},
    version,
  );
  let isFirst = true;
  control.interfere = async (operation, run, keys) => {
    if (operation === "batch" && keys.includes('"messages"') && isFirst) {
      isFirst = false;
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    return await run();
  };
  const calls = [toolCall(1, "say"), toolCall(2, "wait", { ms: 120 })];
  const isBatch = version === "2025-03-26";
  const response = await client.post(id, isBatch ? calls : calls[0]!);
  const [head, all] = response.body!.tee();
  const first = await takeEventId(new Response(head));
  // Read while the messages are being stored.
  const rest = readMessages(await client.get(id, first.replace(/\.1\./, ".0.")));
  const type = { headers: { "content-type": "text/event-stream" } };
  expect(await rest).toEqual(await readMessages(new Response(all, type)));
});

test("what is said while its answer is stored goes to the listening stream", async () => {
  let said: () => Promise<void>;
  const { client, control, id } = await startSession({
    setUp: (mcp) => {
      mcp.registerTool("say", {}, ((extra: Extra) => {
        const params = { level: "info", data: "too late" };
        said = () => extra.sendNotification({ method: "notifications/message", params });
        return text("over");
      }) as never);
    },
  });
  control.interfere = async (operation, run, keys) => {
    if (operation === "batch" && keys.includes('"answer"')) {
      control.interfere = undefined;
      await said();
    }
    return await run();
  };
  expect((await client.call(id, "say")).messages).toHaveLength(1);
  const [message] = await takeEvents(await client.get(id), 1);
  expect(message?.message.params?.["data"]).toBe("too late");
});

test("event ids too long for a header are not given out", async () => {
  const { client, id } = await startSession({}, {}, "2025-03-26");
  const batch = Array.from({ length: 20 }, (_, n) => toolCall(`${n}${"ü".repeat(200)}`, "list"));
  const messages = await readMessages(await client.post(id, batch));
  expect(messages).toHaveLength(20);
  expect(messages.filter(({ eventId }) => eventId !== undefined)).toEqual([]);
});

test("an answer that nobody can come back for has no event id", async () => {
  const { client, id } = await startSession({}, {}, "2025-06-18");
  const { messages } = await client.call(id, "list");
  expect(messages).toHaveLength(1);
  expect(messages![0]!.eventId).toBeUndefined();
});

test.each(["sse", "json"] as const)(
  "an answer that is not JSON is an error and an event, not a client that waits for ever (%s)",
  async (responseFormat) => {
    const { client, events, id } = await startSession({
      responseFormat,
      setUp: (mcp) => mcp.registerTool("big", {}, () => ({ ...text(""), _meta: { big: 10n } })),
    });
    const { error } = await client.call(id, "big");
    expect(error?.code).toBe(-32603);
    expect(error?.message).toContain("JSON");
    expect(events.filter(({ type }) => type === "failed")).toHaveLength(1);
    expect(await client.call(id, "list")).toMatchObject({ text: "" });
  },
);

test("a store that fails while the tools change does not end the process", async () => {
  const { client, control, id } = await startSession({
    setUp: (mcp) => {
      const other = mcp.registerTool("other", {}, () => text(""));
      mcp.registerTool("disable", {}, () => {
        // The SDK sends the notification, and waits for nobody.
        other.disable();
        return text("disabled");
      });
    },
  });
  const unhandled: unknown[] = [];
  const note = (error: unknown) => void unhandled.push(error);
  process.on("unhandledRejection", note);
  control.interfere = async (_operation, run, key) => {
    if (key.includes('"standalone"')) throw new Error("down");
    return await run();
  };
  expect(await client.call(id, "disable")).toMatchObject({ text: "disabled" });
  await new Promise((resolve) => setTimeout(resolve, 20));
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});

test("a question that cannot be stored fails at once", async () => {
  const { client, control, id } = await startSession({}, { elicitation: { form: {} } });
  control.interfere = async (_operation, run, key) => {
    if (key.includes('"standalone"')) throw new Error("down");
    return await run();
  };
  const { messages } = await client.call(id, "ask");
  expect(messages?.at(-1)?.message.result).toMatchObject({ isError: true });
}, 5_000);

test("a message that is not JSON takes no other one with it", async () => {
  const { client, id } = await startSession({
    setUp: (mcp) => {
      const log = (data: unknown) => mcp.server.sendLoggingMessage({ level: "info", data });
      mcp.registerTool("say", {}, async () => {
        const all = await Promise.allSettled([log("a"), log(10n), log("b")]);
        return text(all.map(({ status }) => status).join(","));
      });
    },
  });
  expect(await client.call(id, "say")).toMatchObject({ text: "fulfilled,rejected,fulfilled" });
});

test("code that outlives its call reads the newest state, and cannot write by assignment", async () => {
  const later: (() => void)[] = [];
  const seen: unknown[] = [];
  const kept: string[][] = [];
  const { client, id } = await startSession({
    setUp: (mcp, session) => {
      const look = () => {
        seen.push([...session.state.notes]);
        try {
          session.state.notes.push("lost");
        } catch (error) {
          seen.push((error as Error).constructor.name);
        }
      };
      mcp.registerTool("later", { inputSchema: { uses: z.boolean() } }, ({ uses }) => {
        const { notes } = session.state;
        if (uses) notes.push("mine");
        kept.push(notes);
        later.push(AsyncLocalStorage.bind(look));
        return text("ok");
      });
    },
  });
  await client.call(id, "later", { uses: false });
  await client.call(id, "later", { uses: true });
  await client.call(id, "add", { text: "other" });
  // From within the contexts of the two calls, as a timer of theirs would.
  for (const run of later) run();
  for (const notes of kept) expect(() => notes.push("lost")).toThrow(TypeError);
  expect(seen).toEqual([["mine", "other"], "TypeError", ["mine", "other"], "TypeError"]);
});

test("a running call gets what its client sends elsewhere soon after the store has failed for a while", async () => {
  const { one, two, id } = await startTwo({ timeouts: { leaseMs: 5_000 } });
  const call = one.client.call(id, "wait", { ms: 60_000 }, "waiting");
  await one.client.whenInFlight(id, "waiting");
  await new Promise((resolve) => setTimeout(resolve, 60));
  let failures = 0;
  one.control.interfere = async (operation, run, key) => {
    if (operation === "get" && key.includes('"mail"') && failures++ < 4) throw new Error("down");
    return await run();
  };
  await two.client.post(id, cancellation("waiting"));
  expect((await call).messages).toEqual([]);
  expect(failures).toBeGreaterThan(4);
}, 5_000);

interface Extra {
  sendNotification: (notification: unknown) => Promise<void>;
}
