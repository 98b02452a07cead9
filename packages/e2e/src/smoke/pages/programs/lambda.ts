// The global of Lambda's Node runtime, as far as a page uses it.
import { PassThrough, type Writable } from "node:stream";

export const awslambda = {
  HttpResponseStream: { from: (out: Writable) => out },
  streamifyResponse:
    (handler: (event: object, out: Writable, context: object) => Promise<void>) => async () => {
      const out = new PassThrough();
      let text = "";
      out.setEncoding("utf8").on("data", (part: string) => (text += part));
      const messages = [{ role: "user", content: "Look at the page." }];
      const event = { headers: {}, body: JSON.stringify({ chatId: "chat 1", messages }) };
      await handler(event, out, { getRemainingTimeInMillis: () => 30_000 });
      return text;
    },
};
