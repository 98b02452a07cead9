import { randomBytes } from "node:crypto";
import { BlockList } from "node:net";
import { variableOf } from "../credentials.ts";
import { wrongUsage } from "../output/command-failure.ts";
import { isSame } from "../serving/listen.ts";

interface DoorOptions {
  readonly host: string;
  readonly token?: true | undefined;
  readonly tokenEnv?: string | undefined;
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8);
loopback.addAddress("::1", "ipv6");

/** Who may use the gateway: whoever reaches this machine's own address, or whoever has the token. */
export function createDoor({ host, token, tokenEnv }: DoorOptions) {
  const given = tokenEnv === undefined ? undefined : variableOf("--token-env", tokenEnv);
  const secret = given ?? (token && randomBytes(24).toString("base64url"));
  const isOpen =
    host !== "localhost" && !loopback.check(host, host.includes(":") ? "ipv6" : "ipv4");
  if (secret === undefined && isOpen)
    throw wrongUsage("--host: beyond this machine it needs --token-env, or --token.");
  return {
    /** What the printed addresses end with. A token that was given is not printed. */
    query: secret !== undefined && given === undefined ? `?token=${secret}` : "",
    admits(request: Request): boolean {
      if (secret === undefined) return true;
      const bearer = /^Bearer +(.*)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
      const shown = bearer ?? new URL(request.url).searchParams.get("token") ?? "";
      return isSame(shown, secret);
    },
  };
}
