"use server";

import { z } from "zod";
import { chatParts } from "../../../lib/agent";
import { currentUser } from "../../../lib/user";

const shortText = z.string().min(1).max(200);

// Anyone can call an action with anything: each one asks who it is, and reads no more than it knows.

/** Ends the chat's MCP session of a connection. The next message begins another. */
export async function endSession(chat: string, connection: string): Promise<void> {
  const principal = await signedIn();
  const { sessions } = (await chatParts()).agent;
  await sessions.end(shortText.parse(chat), { principal, connection: shortText.parse(connection) });
}

/** Forgets the user's tokens of a connection, and revokes them. */
export async function signOut(connection: string): Promise<void> {
  const principal = await signedIn();
  const { oauth } = await chatParts();
  await oauth.signOut({ principal, connection: shortText.parse(connection) });
}

async function signedIn() {
  const principal = await currentUser();
  if (principal === undefined) throw new Error("Nobody is signed in.");
  return principal;
}
