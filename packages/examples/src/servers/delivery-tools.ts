import { randomBytes } from "node:crypto";
import {
  acceptedContent,
  type CallToolResult,
  createRequestStateCodec,
  inputRequired,
  type InputRequests,
  type InputRequiredResult,
  inputResponse,
  McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import {
  askForDelivery,
  askForMember,
  askForTerms,
  askToConfirm,
  confirmation,
  delivery,
  member,
} from "./delivery-forms.ts";

interface DeliveryOptions {
  /** Signs `requestState`, in 32 bytes or more. Replicas of a server have the same. */
  stateKey: Uint8Array;
  /** The URL of a page with the terms. */
  termsUrl: (page: string) => string;
  /** Whether a person has agreed there. */
  hasAgreed: (page: string) => boolean;
}

/** What a `requestState` says: how far a call is. */
interface Progress {
  step: "confirm" | "delivery" | "member";
  /** The new member, as soon as the name is known. */
  name?: string;
  /** The page with the terms. */
  page?: string;
}

type Outcome = CallToolResult | InputRequiredResult;

/** A person may take a day to answer. The SDK's default is ten minutes. */
const stateSeconds = 86_400;

/** What makes the server of one request: it keeps nothing between two of them. */
export function createDelivery({ stateKey, termsUrl, hasAgreed }: DeliveryOptions) {
  const states = createRequestStateCodec<Progress>({ key: stateKey, ttlSeconds: stateSeconds });
  const ask = async (progress: Progress, inputRequests: InputRequests): Promise<Outcome> =>
    inputRequired({ inputRequests, requestState: await states.mint(progress) });

  /** Two rounds: whether, and when. */
  async function order(item: string, context: ServerContext): Promise<Outcome> {
    const { inputResponses } = context.mcpReq;
    const { step } = context.mcpReq.requestState<Progress>() ?? {};
    if (isRefused(context, "confirm") || isRefused(context, "delivery")) return notOrdered(item);
    if (step === "delivery") {
      const time = acceptedContent(inputResponses, "delivery", delivery)?.time;
      if (time !== undefined) return say(`Your ${item} comes at ${time}.`);
    }
    if (step === "confirm") {
      const confirmed = acceptedContent(inputResponses, "confirm", confirmation);
      if (confirmed?.ok === false) return notOrdered(item);
      if (confirmed?.ok) return await ask({ step: "delivery" }, { delivery: askForDelivery(item) });
    }
    return await ask({ step: "confirm" }, { confirm: askToConfirm(item) });
  }

  /** Two questions at once. Then the terms again, until the person has agreed on their page. */
  async function joinClub(context: ServerContext): Promise<Outcome> {
    const { inputResponses } = context.mcpReq;
    const known = context.mcpReq.requestState<Progress>();
    const page = known?.page ?? newPage();
    if (isRefused(context, "member") || isRefused(context, "terms"))
      return say("Nobody has joined the tea club.");
    const name = known?.name ?? acceptedContent(inputResponses, "member", member)?.name;
    const askFor = (message: string) => askForTerms(termsUrl(page), message);
    if (name === undefined) {
      const terms = askFor("Read the terms of the tea club, and agree to them there.");
      return await ask({ step: "member", page }, { member: askForMember(), terms });
    }
    if (hasAgreed(page)) return say(`${name} is a member of the tea club.`);
    const terms = askFor("You have not agreed yet. Press the button on the page with the terms.");
    return await ask({ step: "member", page, name }, { terms });
  }

  return () => {
    const server = new McpServer(
      { name: "delivery", version: "1.0.0" },
      { requestState: { verify: (state, context) => states.verify(state, context) } },
    );
    server.registerTool(
      "order",
      {
        description: "Orders one item. The shop asks the user whether, and when it shall come.",
        inputSchema: z.object({ item: z.string() }),
      },
      ({ item }, context) => order(item, context),
    );
    server.registerTool(
      "join_club",
      { description: "Makes the user a member of the tea club. The shop asks for the details." },
      joinClub,
    );
    return server;
  };
}

/** Part of a URL that nobody can guess. */
function newPage(): string {
  return randomBytes(16).toString("base64url");
}

/** Whether a person said no, or closed the question. */
function isRefused({ mcpReq }: ServerContext, key: string): boolean {
  const response = inputResponse(mcpReq.inputResponses, key);
  return response.kind === "elicit" && response.action !== "accept";
}

function notOrdered(item: string): CallToolResult {
  return say(`Your ${item} was not ordered.`);
}

function say(text: string): CallToolResult {
  return { content: [{ type: "text", text }] };
}
