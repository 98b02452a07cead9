/**
 * An execution environment of AWS Lambda: the handler with a streamed answer of docs/deploy/aws-lambda.md, and what
 * the Node runtime gives it, its global `awslambda`. The parent process is the service.
 */
import { PassThrough, Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { principal } from "../durable/notebook-sessions.ts";
import type { FromEnvironment, ToEnvironment } from "./lambda-protocol.ts";
import { createApplication, dictate, type Dictation } from "./streaming-application.ts";

type Handler = (event: { body: string }, responseStream: Writable) => Promise<void>;

const metadata = new WeakMap<Writable, { statusCode: number }>();
const awslambda = {
  streamifyResponse: (handler: Handler) => handler,
  HttpResponseStream: {
    from(stream: Writable, given: { statusCode: number }) {
      metadata.set(stream, given);
      return stream;
    },
  },
};

process.on("message", (message: ToEnvironment) => {
  if (message.type === "start") handler = createHandler(message);
  else void invoke(message.event).then((answer) => process.send!(answer));
});
let handler: Handler;

async function invoke(event: { body: string }): Promise<FromEnvironment> {
  const responseStream = new PassThrough();
  const chunks = responseStream.setEncoding("utf8").toArray();
  const error = await handler(event, responseStream).then(
    () => undefined,
    (cause: unknown) => String(cause),
  );
  const body = error === undefined ? (await chunks).join("") : "";
  return { statusCode: metadata.get(responseStream)?.statusCode, body, error };
}

function createHandler(place: { url: string; path: string }): Handler {
  const { sessions } = createApplication(place);
  return awslambda.streamifyResponse(async (event, responseStream) => {
    const dictation = JSON.parse(event.body) as Dictation;
    const lease = await sessions.open(dictation.chat, { principal });
    try {
      const body = lease.attach(dictate(await lease.tools(), dictation));
      const out = awslambda.HttpResponseStream.from(responseStream, { statusCode: 200 });
      await pipeline(Readable.fromWeb(body as never), out);
    } finally {
      await lease.dispose();
      await lease.closed;
    }
  });
}
