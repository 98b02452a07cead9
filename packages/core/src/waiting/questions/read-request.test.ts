import { expect, it } from "vitest";
import { acceptRequest, readRequest } from "./read-request.ts";

const ask = (key: string, field: string) =>
  readRequest(key, {
    method: "elicitation/create",
    params: {
      message: "Which?",
      requestedSchema: { type: "object", properties: { [field]: { type: "string" } } },
    },
  });

it("keeps fields apart whatever dots their questions' keys and their names have", () => {
  const [one, other] = [ask("x", "y.content.z"), ask("x.content.y", "z")];
  if (one.mode !== "form" || other.mode !== "form") throw new Error("Both are forms.");
  const form = new FormData();
  form.append(one.fields[0]!.name, "first");
  form.append(other.fields[0]!.name, "second");
  expect(acceptRequest(one, form)).toEqual({
    action: "accept",
    content: { "y.content.z": "first" },
  });
  expect(acceptRequest(other, form)).toEqual({ action: "accept", content: { z: "second" } });
});

it.each([
  ["time", "Time"],
  ["deliveryTime", "Delivery time"],
  ["delivery_time", "Delivery time"],
  ["pick-up", "Pick up"],
  ["userID", "User id"],
  ["line2", "Line2"],
  ["Ort", "Ort"],
])("calls a field without a title by its name, in words: %s", (name, title) => {
  const request = ask("delivery", name);
  expect(request.mode === "form" && request.fields[0]).toMatchObject({ key: name, title });
});
