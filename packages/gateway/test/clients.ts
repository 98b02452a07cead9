import {
  Client as Client2,
  StreamableHTTPClientTransport as Transport2,
} from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { onTestFinished } from "vitest";

const info = { name: "unchanged", version: "1.0.0" };
const requestInit = { headers: { authorization: "Bearer ann" } };

/** An unmodified client of the official SDK 1. */
export async function connectSdk1(url: string, capabilities = {}) {
  const client = new Client1(info, { capabilities });
  const transport = new Transport1(new URL(url), { requestInit });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

/** An unmodified client of the official SDK 2. */
export async function connectClient2(url: string, capabilities = {}) {
  const client = new Client2(info, { capabilities });
  const transport = new Transport2(new URL(url), { requestInit });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

/** The first text of a result. */
export function textOf(result: object): string {
  const [first] = (result as { content: { text?: string }[] }).content;
  return first?.text ?? "";
}
