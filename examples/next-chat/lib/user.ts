import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import type { Principal } from "@durable-mcp/ai-sdk";
import { cookies } from "next/headers";
import { setting } from "./settings";

/**
 * Put your own login here. In this template whoever opens the page becomes a user, by a signed cookie. The principal
 * comes from it and never from what a request says: an MCP session, an answer and a token belong to one user.
 */
export async function currentUser(): Promise<(Principal & { type: "user" }) | undefined> {
  const [id = "", signature = ""] = ((await cookies()).get(cookie)?.value ?? "").split(".");
  const [expected, given] = [Buffer.from(sign(id)), Buffer.from(signature)];
  if (expected.length !== given.length || !timingSafeEqual(expected, given)) return undefined;
  return { type: "user", issuer: setting("APP_URL"), id };
}

/** Makes a user of whoever is none yet. Only routes and actions may set cookies. */
export async function welcome(): Promise<void> {
  if (await currentUser()) return;
  const id = randomUUID();
  (await cookies()).set(cookie, `${id}.${sign(id)}`, {
    httpOnly: true,
    sameSite: "lax",
    secure: setting("APP_URL").startsWith("https:"),
    maxAge: 365 * 86_400,
  });
}

const cookie = "user";

function sign(id: string): string {
  return createHmac("sha256", setting("COOKIE_SECRET")).update(id).digest("base64url");
}
