/** A process with one client of somebody else on `openSessionFetch`. It calls when it is told to, and may be killed. */
import { openSessionFetch } from "@durable-mcp/ai-sdk";
import { type ClientName, loadClient } from "../clients/index.ts";
import { principal } from "./notebook-sessions.ts";
import { openStoreAt, type StorePlace } from "./store-place.ts";

/** The task of the process, in its first argument. */
export interface FetchTask {
  readonly client: ClientName;
  readonly url: string;
  readonly place: StorePlace;
  readonly note: string;
}

/** `ready` to call; then what the call said. */
export type FetchReport = "ready" | { readonly said: string };

const { client: name, url, place, note } = JSON.parse(process.argv[2]!) as FetchTask;
const { store, close } = await openStoreAt(place);
const session = await openSessionFetch({
  ...{ url, store, session: "chat 1", principal, connection: "notebook" },
  onEvent: () => undefined,
});
const connect = await loadClient(name);
const next = () => new Promise<unknown>((resolve) => process.once("message", resolve));
const report = (message: FetchReport) => void process.send!(message);

const told = next();
report("ready");
await told;
const client = await connect({ url, fetch: session.fetch });
const { text } = await client.callTool("add_note", { text: note });
const toldToEnd = next();
report({ said: text });
await toldToEnd;
await client.close();
await session.close();
await close?.();
process.disconnect();
