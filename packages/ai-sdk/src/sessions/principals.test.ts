import { expect, test } from "vitest";
import { startNotebookServer } from "../../test/notebook-server.ts";
import { callForText, startApplication } from "../../test/step.ts";
import { createPrincipals, defineMcpClientConnection } from "../index.ts";

test("a user of an issuer that is said once has the sessions of the whole principal", async () => {
  const server = await startNotebookServer();
  const notes = defineMcpClientConnection({
    url: server.url,
    description: "A notebook.",
    session: "stateful",
  });
  const application = startApplication({ notes });
  const whole = { type: "user", issuer: "https://shop.example", id: "42" } as const;
  const session = await application.step(
    {},
    async (registry) => {
      await callForText(await registry.tools(), "notes__add_note", { text: "a" });
    },
    whole,
  );
  const listed = async (principal: Parameters<typeof application.step>[2]) => {
    let text = "";
    const list = async (registry: { tools(): Promise<any> }) => {
      text = await callForText(await registry.tools(), "notes__list_notes");
    };
    await application.step(session, list, principal);
    return text;
  };
  expect(await listed(createPrincipals({ issuer: "https://shop.example" }).user("42"))).toBe("a");
  expect(await listed(createPrincipals({ issuer: "https://other.example" }).user("42"))).toBe("");
});
