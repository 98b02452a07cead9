/**
 * The process of a container, as docs/deploy/containers.md has it: answers stream, and SIGTERM ends it without a loss.
 *
 *     CONTAINER=<a ContainerInput as JSON> node container-program.ts
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { text } from "node:stream/consumers";
import { principal } from "../durable/notebook-sessions.ts";
import { createApplication, dictate, type Dictation } from "./streaming-application.ts";

export interface ContainerInput {
  readonly url: string;
  readonly path: string;
  readonly port: number;
  /** How long answers under way may take after SIGTERM, in milliseconds. */
  readonly graceMs: number;
}

const { url, path, port, graceMs } = JSON.parse(process.env["CONTAINER"]!) as ContainerInput;
const { sessions, store } = createApplication({ url, path });

const server = createServer((request, response) => {
  if (request.method === "POST") void answer(request, response);
  else response.end();
});
server.listen(port, "127.0.0.1");
process.once("SIGTERM", () => void stop());

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const dictation = JSON.parse(await text(request)) as Dictation;
  const body = await sessions.run(dictation.chat, { principal }, async (run) =>
    dictate(await run.tools(), dictation),
  );
  // A client that is gone, or an answer that is cut off.
  await pipeline(Readable.fromWeb(body as never), response).catch(() => response.destroy());
}

async function stop(): Promise<void> {
  const answered = new Promise<void>((resolve) => server.close(() => resolve()));
  // A connection that clients keep open is idle only when its answer has ended.
  setInterval(() => server.closeIdleConnections(), 100);
  await Promise.race([answered, new Promise((resolve) => setTimeout(resolve, graceMs))]);
  await sessions.shutdown({ timeoutMs: 2_000 });
  await store.close();
  process.exit(0);
}
