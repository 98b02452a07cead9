import {
  askable,
  connectOwnClient,
  type CreateOwnClient,
  type OwnClient,
  textOf,
} from "../../clients/own-client.ts";
import type { OpenSignInClient } from "./sign-in-client.ts";

/** One's own client on the `fetch` of `connect`. */
export function onOAuthFetch(create: CreateOwnClient): OpenSignInClient {
  return async ({ url, principal, oauth }) => {
    const connection = "suite";
    const { fetch } = oauth.connect({ principal, url, connection });
    // Who looks what is to be signed in to needs no client.
    let connecting: Promise<OwnClient> | undefined;
    const connected = () =>
      (connecting ??= connectOwnClient(create, { url, fetch, capabilities: askable }));
    return {
      listTools: async () => (await (await connected()).listTools()).map(({ name }) => name),
      callTool: async (name) => ({
        text: textOf(await (await connected()).callTool(name, {})),
      }),
      startUrl: async () =>
        (await oauth.authorizationFor({ principal, url, connection }))?.startUrl,
      async close() {
        await (await connecting?.catch(() => undefined))?.close();
      },
    };
  };
}
