import { chatParts } from "../../../../lib/agent";

export const maxDuration = 300;

// A message and its answer, an answer to a question, the chat as it is. Any process may do it.
export const GET = async (request: Request) => await (await chatParts()).chat.GET(request);
export const POST = async (request: Request) => await (await chatParts()).chat.POST(request);
export const DELETE = async (request: Request) => await (await chatParts()).chat.DELETE(request);
