"use server";

import { McpSessionError } from "@durable-mcp/ai-sdk";
import type { InputResponses } from "@durable-mcp/core/waiting";
import type { AnswerProblem } from "@durable-mcp/react";
import { z } from "zod";
import { chatParts } from "../../../lib/agent";
import { currentUser } from "../../../lib/user";

const shortText = z.string().min(1).max(200);

// Anyone can call an action with anything: each one asks who it is, and reads no more than it knows.

/** Sends a person's answer to the server that asked. Any process may do it. */
export async function answerQuestion(
  chat: string,
  call: string,
  round: number,
  responses: InputResponses,
): Promise<AnswerProblem | undefined> {
  const principal = await signedIn();
  const { sessions } = (await chatParts()).agent;
  return await problemOf(
    // The answers are checked against the questions before anything is sent.
    sessions.answer(shortText.parse(chat), shortText.parse(call), responses, {
      principal,
      round: z.number().parse(round),
    }),
  );
}

/** Takes a call back. The model reads it with the next message. */
export async function withdrawCall(chat: string, call: string): Promise<AnswerProblem | undefined> {
  const principal = await signedIn();
  const { sessions } = (await chatParts()).agent;
  return await problemOf(
    sessions.withdraw(shortText.parse(chat), shortText.parse(call), { principal }),
  );
}

/** Ends the answer that is being made, in whichever process. */
export async function stopAnswer(chat: string): Promise<void> {
  const { id } = await signedIn();
  (await chatParts()).history.stop(id, shortText.parse(chat));
}

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

async function problemOf(
  done: Promise<{ readonly state: string }>,
): Promise<AnswerProblem | undefined> {
  try {
    const { state } = await done;
    if (state === "outcome-unknown") return { message: "Nobody knows whether the server got it." };
    if (state === "expired") return { message: "The question was too old. Nothing was sent." };
    return undefined;
  } catch (error) {
    if (!McpSessionError.isInstance(error)) throw error;
    const { field } = error.data;
    if (error.code === "NOT_WAITING") {
      return { message: "This was answered somewhere else, or is over. Nothing was sent." };
    }
    return { message: error.message, ...(typeof field === "string" && { field }) };
  }
}
