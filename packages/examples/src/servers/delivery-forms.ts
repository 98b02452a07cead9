import { inputRequired } from "@modelcontextprotocol/server";
import { z } from "zod";

export const confirmation = z.object({ ok: z.boolean() });
export const delivery = z.object({ time: z.string(), note: z.string().optional() });
export const member = z.object({ name: z.string() });

export const askToConfirm = (item: string) =>
  inputRequired.elicit({
    message: `Order ${item} for 4.80 €?`,
    requestedSchema: {
      type: "object",
      properties: { ok: { type: "boolean", title: "Yes, order it" } },
      required: ["ok"],
    },
  });

export const askForDelivery = (item: string) =>
  inputRequired.elicit({
    message: `When shall ${item} come?`,
    requestedSchema: {
      type: "object",
      properties: {
        time: {
          type: "string",
          title: "Time",
          oneOf: [
            { const: "09:00", title: "9 in the morning" },
            { const: "12:00", title: "Noon" },
            { const: "18:00", title: "6 in the evening" },
          ],
        },
        note: { type: "string", title: "Note for the driver", maxLength: 80 },
      },
      required: ["time"],
    },
  });

/** A form with fields of every kind, some with a default. */
export const askForMember = () =>
  inputRequired.elicit({
    message: "Who becomes a member of the tea club?",
    requestedSchema: {
      type: "object",
      properties: {
        name: { type: "string", title: "Name", minLength: 2, maxLength: 40 },
        email: {
          type: "string",
          title: "Email",
          format: "email",
          description: "For the receipts.",
        },
        website: { type: "string", title: "Website", format: "uri" },
        birthday: { type: "string", title: "Birthday", format: "date" },
        starts: { type: "string", title: "First delivery", format: "date-time" },
        cups: { type: "integer", title: "Cups a day", minimum: 1, maximum: 20, default: 3 },
        budget: { type: "number", title: "Most to spend a month, in €", minimum: 0 },
        news: { type: "boolean", title: "Send me news", default: true },
        strength: { type: "string", title: "Strength", enum: ["mild", "strong"], default: "mild" },
        milk: {
          type: "string",
          title: "Milk",
          oneOf: [
            { const: "none", title: "No milk" },
            { const: "oat", title: "Oat milk" },
            { const: "cow", title: "Cow's milk" },
          ],
        },
        teas: {
          type: "array",
          title: "Teas",
          description: "One or two.",
          minItems: 1,
          maxItems: 2,
          items: { type: "string", enum: ["Assam", "Darjeeling", "Sencha"] },
          default: ["Assam"],
        },
        extras: {
          type: "array",
          title: "Extras",
          items: {
            anyOf: [
              { const: "cup", title: "A cup" },
              { const: "card", title: "A card" },
            ],
          },
        },
      },
      required: ["name", "email", "teas"],
    },
  });

export const askForTerms = (url: string, message: string) =>
  inputRequired.elicitUrl({ message, url });
