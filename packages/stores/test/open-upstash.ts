import type { OpenedStore } from "@durable-mcp/testing/store";
import { createUpstashStore } from "../src/upstash.ts";
import { upstashToken } from "./upstash-server.ts";

/** Opens the store on the server at a port. */
export default function openUpstash(port: number): OpenedStore {
  const url = `http://127.0.0.1:${port}`;
  return { store: createUpstashStore({ url, token: upstashToken, timeoutMs: 2_000 }) };
}
