import { expect, test } from "vitest";
import { findProgram } from "../../../stores/test/find-program.ts";
import { runCliJson } from "../../test/run-cli.ts";
import { keys, runAtTerminal } from "../../test/start-cli.ts";
import { startShop } from "../../test/store-of-an-application.ts";

const hostile = "\u001b[2J\u009b1A\u061c\u202e";

test.skipIf(findProgram("script") === undefined)(
  "a form whose titles, defaults and choices are of other types is asked, and writes over nothing",
  async () => {
    const field = { title: 7, description: { toString: 1 }, default: { toString: 1 } };
    const properties = {
      [hostile]: { ...field, type: "string", title: hostile, default: `${hostile}preset` },
      amount: { ...field, type: "integer", default: "5" },
      size: { ...field, type: "integer", enum: [1, 2], enumNames: [hostile], default: 2 },
      extras: { ...field, type: "array", items: { type: "string", enum: ["milk"] }, default: 5 },
      ok: { ...field, type: "boolean", default: 5 },
    };
    const requestedSchema = { type: "object", properties, required: Object.keys(properties) };
    const params = { message: hostile, requestedSchema };
    const { address, server, origin } = await startShop({
      question: () => ({ method: "elicitation/create", params }),
    });
    const { json } = await runCliJson("waiting", "list", "--store", address);
    const answer = ["waiting", "answer", json.calls[0].row, "--store", address];
    const { screen, ...answered } = await runAtTerminal(answer, [
      ["Answer", keys.enter],
      ["preset", keys.enter],
      ["7", keys.enter],
      ["7", keys.enter],
      ["milk", `${keys.space}${keys.enter}`],
      ["Yes", `${keys.left}${keys.enter}`],
      [`Send the answers to ${origin}`, `${keys.left}${keys.enter}`],
    ]);
    expect(answered).toEqual({ exitCode: 0, unanswered: [] });
    // oxlint-disable-next-line no-control-regex
    expect(screen).not.toMatch(/\u001b\[2J|[\u009b\u061c\u202e]/);
    const [, leg] = server.legs;
    const content = {
      [hostile]: " [2J 1A  preset",
      amount: 5,
      size: 2,
      extras: ["milk"],
      ok: true,
    };
    expect(leg?.params.inputResponses).toEqual({ confirm: { action: "accept", content } });
  },
);
