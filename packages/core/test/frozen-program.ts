// Opens a session, calls a tool and reads a store, each with a limit, and prints how that went.
import { createSessionFetch, createSessionSlot } from "../src/index.ts";
import { attemptInStore } from "../src/stores/store-attempt.ts";
import { createRpcClient } from "./rpc-client.ts";

const [url = "", limit] = process.argv.slice(2);
const limitMs = Number(limit);
const timeouts = { initializeMs: limitMs, answerMs: limitMs };
const fetch = createSessionFetch({ url, slot: createSessionSlot(), timeouts });
const client = createRpcClient(fetch, url);
const readStore = async (signal: AbortSignal | undefined) => {
  const body = JSON.stringify({ id: 0, method: "store/get" });
  return await (
    await globalThis.fetch(url, { method: "POST", body, signal: signal ?? null })
  ).json();
};
try {
  await client.handshake();
  const { result, error } = await client.request("tools/call", { name: "add" });
  if (result === undefined) throw new Error(error?.message);
  await attemptInStore("test's", "get", ({ signal }) => readStore(signal), limitMs);
  console.log("all answered");
} catch (error) {
  console.log(String(error));
}
