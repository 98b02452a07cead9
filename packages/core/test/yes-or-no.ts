/** A yes-or-no question. */
export const confirm = {
  method: "elicitation/create",
  params: {
    message: "Order it?",
    requestedSchema: {
      type: "object",
      properties: { ok: { type: "boolean" } },
      required: ["ok"],
    },
  },
} as const;

/** Its answer, among those of a round. */
export const yes = { confirm: { action: "accept", content: { ok: true } } } as const;
