import type { LoginProvider } from "../base/mcp-client.ts";
import type { ConnectionSecrets } from "./connection-secrets.ts";

/** The same login, whose tokens are known as secrets: its client may send them past our fetch. */
export function withNotedTokens(
  provider: LoginProvider,
  secrets: Pick<ConnectionSecrets, "add">,
): LoginProvider {
  const tokens = async () => {
    const found = await provider.tokens();
    secrets.add(...[found?.access_token, found?.refresh_token].filter((token) => token != null));
    return found;
  };
  return new Proxy(provider, {
    get(target, name) {
      if (name === "tokens") return tokens;
      const member: unknown = Reflect.get(target, name);
      // It may have private members.
      return typeof member === "function" ? member.bind(target) : member;
    },
    set: (target, name, value) => Reflect.set(target, name, value),
  });
}
