import type { SessionStore } from "@durable-mcp/core";
import { isRecord } from "@durable-mcp/core/internal";
import { once } from "../base/once.ts";

const loopback = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;

/**
 * Why a request is not for this studio: a page of another site may have sent it, or a name that leads here since a
 * moment ago.
 *
 * @param origin as of the options
 */
export function addressProblem(request: Request, origin: string | undefined): string | undefined {
  const host = request.headers.get("host") ?? new URL(request.url).host;
  const own = origin === undefined ? undefined : new URL(origin);
  if (own ? host !== own.host : !loopback.test(host))
    return "The studio is not reached under this name. Give createStudio its origin, such as https://ops.example.";
  if (request.method !== "POST") return undefined;
  const from = request.headers.get("origin") ?? "";
  const isOwn = URL.canParse(from) && (own ? from === own.origin : new URL(from).host === host);
  return isOwn ? undefined : "The form is not of this studio. Nothing was done.";
}

/** Where a store keeps the key of the forms' tokens. No record of a session has such a key. */
const keyName = "durable-mcp/studio";

/** The tokens of forms. No other program has them, one at another port of the same machine neither. */
export interface FormTokens {
  of(operator: string): Promise<string>;
  isOf(operator: string, token: unknown): Promise<boolean>;
}

/** @param store all processes of the studio share its key */
export function createFormTokens(store: SessionStore): FormTokens {
  const key = once(async () => {
    const secret = Uint8Array.from(await ownSecret(store), (sign) => sign.charCodeAt(0));
    const use = { name: "HMAC", hash: "SHA-256" };
    return await crypto.subtle.importKey("raw", secret, use, false, ["sign", "verify"]);
  });
  return {
    async of(operator) {
      const mac = await crypto.subtle.sign("HMAC", await key(), textOf(operator));
      return Array.from(new Uint8Array(mac), (byte) => byte.toString(16).padStart(2, "0")).join("");
    },
    async isOf(operator, token) {
      if (typeof token !== "string" || !/^[\da-f]{64}$/.test(token)) return false;
      const mac = Uint8Array.from(token.match(/../g)!, (pair) => Number.parseInt(pair, 16));
      return await crypto.subtle.verify("HMAC", await key(), mac, textOf(operator));
    },
  };
}

const textOf = (operator: string) =>
  new TextEncoder().encode(JSON.stringify([keyName, "form", operator]));

async function ownSecret(store: SessionStore): Promise<string> {
  const stored = secretIn((await store.get(keyName))?.value);
  if (stored !== undefined) return stored;
  const secret = crypto.randomUUID() + crypto.randomUUID();
  const put = await store.put(keyName, { version: 1, secret }, null, { owner: keyName });
  return put.ok ? secret : (secretIn(put.current?.value) ?? secret);
}

function secretIn(value: unknown): string | undefined {
  const secret = isRecord(value) ? value["secret"] : undefined;
  return typeof secret === "string" && secret.length >= 72 ? secret : undefined;
}
