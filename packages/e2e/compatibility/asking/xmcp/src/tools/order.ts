import {
  acceptedContent,
  createRequestStateCodec,
  inputRequired,
  inputResponse,
  type ToolMetadata,
} from "xmcp";
import { z } from "zod";

export const schema = { item: z.string() };
export const metadata: ToolMetadata = {
  name: "order",
  description: "Orders an item, after a yes.",
};

const yesOrNo = z.object({ ok: z.boolean() });
const codec = createRequestStateCodec({
  key: "a key that nobody else has, for tests",
  ttlSeconds: Number(process.env["STATE_SECONDS"]),
});
const say = (text: string) => ({ content: [{ type: "text" as const, text }] });

/** A tool file has no place for a check of `requestState`: what comes is taken. */
export default async function order(
  { item }: { item: string },
  { inputResponses }: { inputResponses?: never },
) {
  const view = inputResponse(inputResponses, "confirm");
  if (view.kind === "elicit" && view.action !== "accept") return say(`No ${item}.`);
  if (acceptedContent(inputResponses, "confirm", yesOrNo)) return say(`Ordered: ${item}`);
  const message = `Order ${item}?`;
  const confirm = inputRequired.elicit({ message, requestedSchema: yesOrNo });
  return inputRequired({
    inputRequests: { confirm },
    requestState: await codec.mint({ step: "confirm" }),
  });
}
