import { generateText, streamText } from "ai";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  createConnectionProvider,
  defineMcpClientConnection,
  type Principal,
} from "../../src/index.ts";

const principal: Principal = { type: "app" };
const provider = createConnectionProvider({
  connections: {
    notes: defineMcpClientConnection({
      url: "http://a/mcp",
      description: "Notes.",
      schemas: { add_note: { inputSchema: z.object({ text: z.string() }) } },
    }),
  },
});
const session = { id: "chat", state: {} as unknown };
const model = "a/b";

test("the session comes back as it is, and of a stream as a promise", async () => {
  const whole = await provider.run({ session, principal }, async (run) =>
    generateText({ model, tools: await run.tools(), prompt: "go" }),
  );
  expectTypeOf(whole.session).toEqualTypeOf<{ id: string; state: unknown }>();
  expectTypeOf(whole.result.text).toEqualTypeOf<string>();

  const streamed = await provider.run({ session, principal }, async (run) =>
    streamText({ model, tools: await run.tools(), prompt: "go" }),
  );
  expectTypeOf(streamed.session).toEqualTypeOf<Promise<{ id: string; state: unknown }>>();
  expectTypeOf(streamed.result.text).toExtend<PromiseLike<string>>();

  const response = await provider.run({ session, principal }, () => new Response(""));
  expectTypeOf(response.session).resolves.toEqualTypeOf<{ id: string; state: unknown }>();
  const either = await provider.run({ session }, (): Response | string => "");
  expectTypeOf(await either.session).toEqualTypeOf<{ id: string; state: unknown }>();
});

test("the step is given typed tools, and onSession the session", async () => {
  const onSession = (changed: typeof session) => void changed.id;
  await provider.run({ session, principal, onSession }, async (run) => {
    expectTypeOf(await run.tools()).toHaveProperty("notes__add_note");
    return run.call("notes", "add_note");
  });
  // @ts-expect-error the session is missing
  void (() => provider.run({ principal }, () => 1));
});
