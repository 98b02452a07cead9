/** A step whose record is written before its call is sent. Gives the results of its tools. */
import type { StepContext } from "@durable-mcp/testing";
import { scriptedModel } from "@durable-mcp/testing/ai-sdk";
import { generateText } from "ai";
import { openStoreAt, type StorePlace } from "../durable/store-place.ts";
import { createLab, type LabUse } from "./waiting-lab.ts";
import { principal } from "./waiting-shop.ts";

export interface FirstStep {
  readonly place: StorePlace;
  readonly use: LabUse;
}

export default async function takeFirstStep(
  { place, use }: FirstStep,
  { watch }: StepContext,
): Promise<string> {
  const { store } = await openStoreAt(place);
  const watched = watch(store);
  const put: typeof store.put = (...args) =>
    (args[0].includes("waiting/") ? watched : store).put(...args);
  const { sessions } = createLab(use, { store: { ...store, put } });
  const model = scriptedModel([{ tool: "lab__research", input: { topic: "tea" } }]);
  const messages = [{ role: "user", content: "What of tea?" }] as const;
  return await sessions.run(use.sessionId, { principal }, async (run) => {
    const { tools } = await run.waiting.resume([...messages], { tools: await run.tools() });
    const { content } = await generateText({ model, tools, messages: [...messages] });
    return JSON.stringify(content.filter(({ type }) => type.startsWith("tool-")));
  });
}
