import { afterEach, describe, expect, test } from "vitest";
import { readMessages, toolCall } from "../../test/raw-client.ts";
import { startSession } from "../../test/replicas.ts";

let runs: string[] = [];
let release: () => void = () => undefined;
afterEach(() => void (runs = []));

/** A session whose tool `pay` counts its runs, and ends when it is released. */
async function startPaying(
  options: Parameters<typeof startSession>[0] = {},
  capabilities?: object,
  revision?: string,
) {
  const released = new Promise<void>((resolve) => (release = resolve));
  return await startSession(
    {
      setUp: (mcp) =>
        mcp.registerTool("pay", {}, async () => {
          runs.push("pay");
          await released;
          return { content: [{ type: "text", text: `paid ${runs.length}` }] };
        }),
      ...options,
    },
    capabilities as Record<string, unknown>,
    revision,
  );
}

const ofOurs = "0123456789abcdef01234567.1";
const uuid = "6b3a4f0e-5c1d-4f7e-9a51-3d2c1b0a9f8e";
const paid = async (response: Response) => (await readMessages(response)).at(-1)?.message;
const once = (id: string) => ({ id, result: { content: [{ text: "paid 1" }] } });

describe.each(["sse", "json"] as const)("a POST that comes again, as %s,", (responseFormat) => {
  test.each([ofOurs, uuid])("gets the answer of the call that runs (%s)", async (id) => {
    const { client, id: session } = await startPaying({ responseFormat });
    const first = client.post(session, toolCall(id, "pay"));
    await client.whenInFlight(session, id);
    const second = client.post(session, toolCall(id, "pay"));
    setTimeout(release, 50);
    expect(await paid(await first)).toMatchObject(once(id));
    expect(await paid(await second)).toMatchObject(once(id));
    expect(runs).toHaveLength(1);
  });

  test("is not made again after its answer", async () => {
    const { client, id: session } = await startPaying({ responseFormat });
    release();
    expect(await paid(await client.post(session, toolCall(ofOurs, "pay")))).toMatchObject(
      once(ofOurs),
    );
    const again = await paid(await client.post(session, toolCall(ofOurs, "pay")));
    // A JSON answer is not stored.
    const isKept = responseFormat === "sse";
    const unknown = { id: ofOurs, error: { data: { code: "OUTCOME_UNKNOWN" } } };
    expect(again).toMatchObject(isKept ? once(ofOurs) : unknown);
    expect(runs).toHaveLength(1);
  });
});

test("a client of an older revision gets the answer of the call that runs, too", async () => {
  const { client, id: session } = await startPaying({}, {}, "2025-06-18");
  const first = client.post(session, toolCall(ofOurs, "pay"));
  await client.whenInFlight(session, ofOurs);
  const second = client.post(session, toolCall(ofOurs, "pay"));
  setTimeout(release, 50);
  expect(await paid(await first)).toMatchObject(once(ofOurs));
  expect(await paid(await second)).toMatchObject(once(ofOurs));
  expect(runs).toHaveLength(1);
});

test.each<[string, string | number]>([
  ["a number", 0],
  ["a number as text", "7"],
  ["a word with a number", "request-000000000000001"],
])("under an id that clients count, %s, equal bodies are several calls", async (_, id) => {
  const { client, id: session } = await startPaying();
  const first = client.post(session, toolCall(id, "pay"));
  await client.whenInFlight(session, id);
  expect((await client.post(session, toolCall(id, "pay"))).status).toBe(409);
  release();
  await paid(await first);
  await paid(await client.post(session, toolCall(id, "pay")));
  expect(runs).toHaveLength(2);
});

test("another body under the same id is another call", async () => {
  const { client, id: session } = await startPaying();
  const first = client.post(session, toolCall(uuid, "pay"));
  await client.whenInFlight(session, uuid);
  expect((await client.post(session, toolCall(uuid, "pay", { n: 1 }))).status).toBe(409);
  release();
  await paid(await first);
  await paid(await client.post(session, toolCall(uuid, "pay", { n: 1 })));
  expect(runs).toHaveLength(2);
});

test("a client that repeats one POST without end gets no more streams than a session may have", async () => {
  const limits = { streamsPerSession: 2 };
  const { client, id: session } = await startPaying({ limits });
  const first = client.post(session, toolCall(uuid, "pay"));
  await client.whenInFlight(session, uuid);
  const repeat = () => client.post(session, toolCall(uuid, "pay"));
  const statuses = [await repeat(), await repeat(), await repeat()].map(({ status }) => status);
  expect(statuses).toEqual([200, 200, 409]);
  release();
  await paid(await first);
});
