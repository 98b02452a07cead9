import { scriptedModel, type ScriptedModel, type Turn } from "@durable-mcp/testing/ai-sdk";
import type { ChatState } from "../src/index.ts";

/** The requests of a page, and how they are answered. */
interface Chat {
  readonly state: () => Promise<ChatState>;
  readonly post: (body: object) => Promise<Response>;
}

/**
 * What a page does until a message has its answer: it sends the message again where the server lacks it, goes on where
 * an answer was interrupted, and waits while somebody answers.
 *
 * @param wait while somebody answers, or the server does not
 */
export async function converse(
  chat: Chat,
  message: { readonly id: string },
  wait: () => unknown,
): Promise<ChatState> {
  let body: object | undefined = { message };
  for (let turns = 0; turns < 30; turns += 1) {
    if (body) await (await chat.post(body)).text();
    const state = await chat.state();
    const isThere = state.messages?.some(({ id }) => id === message.id);
    if (state.messages === undefined || state.answering === "yes") {
      body = undefined;
      await wait();
    } else if (!isThere) body = { message };
    else if (state.answering === "no") return state;
    else body = {};
  }
  throw new Error("The page sticks.");
}

/** A model that decides by what it reads last. */
export function readingModel(decide: (lastRole: string, lastText: string) => Turn): ScriptedModel {
  const turn = () => {
    const { role, content } = model.doStreamCalls.at(-1)!.prompt.at(-1);
    return decide(role, JSON.stringify(content));
  };
  const model = scriptedModel(...Array.from({ length: 20 }, () => turn));
  return model;
}
