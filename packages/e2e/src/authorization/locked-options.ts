import { appendFileSync } from "node:fs";
import { parseArgs } from "node:util";
import {
  createIntrospection,
  createSignatureCheck,
  type IssuerMetadata,
  readIssuerMetadata,
  type TokenVerifier,
} from "./token-verifier.ts";

export interface LockedWorld {
  readonly port: number;
  /** The resource. */
  readonly url: URL;
  readonly metadata: IssuerMetadata;
  readonly verify: TokenVerifier;
}

/** Reads `--port`, `--issuer` and `--verify introspection|signature`, and asks the issuer who it is. */
export async function readLockedOptions(): Promise<LockedWorld> {
  const { values } = parseArgs({
    options: {
      port: { type: "string", default: "0" },
      issuer: { type: "string", default: "" },
      verify: { type: "string", default: "introspection" },
    },
  });
  const metadata = await readIssuerMetadata(values.issuer);
  const create = values.verify === "signature" ? createSignatureCheck : createIntrospection;
  return {
    port: Number(values.port),
    url: new URL(`http://127.0.0.1:${values.port}/mcp`),
    metadata,
    verify: create(metadata),
  };
}

/** Puts a message that is answered 401 or 403 on record, without what else was sent. */
export function recordRefusal(status: number, message: unknown): void {
  if (status !== 401 && status !== 403) return;
  const { method, params } = (message ?? {}) as { method?: string; params?: { name?: string } };
  // A GET has none; that of the test that waits for this server is one.
  if (method === undefined) return;
  const entry = { refused: status, method, tool: params?.name };
  appendFileSync(process.env["NOTEBOOK_JOURNAL"]!, `${JSON.stringify(entry)}\n`);
}
