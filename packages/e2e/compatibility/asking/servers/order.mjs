/** The tool of the servers here that are built on SDK v2: a yes before the order, and a signed `requestState`. */
import { parseArgs } from "node:util";
import { z } from "zod";

/** `--port`, and `--state-seconds`: how long a `requestState` is good for. */
const { values } = parseArgs({
  options: { port: { type: "string" }, "state-seconds": { type: "string", default: "600" } },
});
export const port = Number(values.port);
export const stateSeconds = Number(values["state-seconds"]);

/** Signs `requestState`, the same after a restart. */
export const stateKey = "a key that nobody else has, for tests";

export const orderTool = { name: "order", description: "Orders an item, after a yes." };
export const orderInput = z.object({ item: z.string() });
export const yesOrNo = z.object({ ok: z.boolean() });

/** @param sdk the functions of SDK v2, from wherever the framework has them */
export function createOrder({
  acceptedContent,
  createRequestStateCodec,
  inputRequired,
  inputResponse,
}) {
  const codec = createRequestStateCodec({ key: stateKey, ttlSeconds: stateSeconds });
  async function order({ item }, inputResponses) {
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
  return { order, verify: codec.verify };
}

export const say = (text) => ({ content: [{ type: "text", text }] });
