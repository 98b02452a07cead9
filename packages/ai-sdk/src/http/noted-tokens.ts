import type { OAuthClientProvider } from "@ai-sdk/mcp";
import type { ConnectionSecrets } from "../connection/connection-secrets.ts";

/** The same login, whose tokens are known as secrets: `@ai-sdk/mcp` sends them past our fetch. */
export function withNotedTokens(
  provider: OAuthClientProvider,
  secrets: Pick<ConnectionSecrets, "add">,
): OAuthClientProvider {
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
