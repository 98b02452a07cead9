import { once } from "node:events";
import { connect } from "node:net";

/** One connection at a time, which sends one request after the other. */
export interface HttpCaller {
  readonly send: (request: string) => Promise<Answer>;
  readonly close: () => void;
}

/** A client without a library, as light as can be: it shares the machine with the server that it measures. */
export async function connectCaller(port: number): Promise<HttpCaller> {
  let waiting: PromiseWithResolvers<Answer> | undefined;
  const settle = () => {
    const settled = waiting;
    waiting = undefined;
    return settled;
  };
  const open = async () => {
    const opened = connect({ port, host: "127.0.0.1", noDelay: true });
    await once(opened, "connect");
    opened.on(
      "data",
      createAnswerReader((answer) => settle()?.resolve(answer)),
    );
    opened.on("error", (error) => settle()?.reject(error));
    opened.on("close", () => settle()?.reject(new Error("The server closed the connection.")));
    return opened;
  };
  let socket = await open();
  return {
    async send(request) {
      // Some servers close what was idle while others were measured.
      if (!socket.writable) socket = await open();
      waiting = Promise.withResolvers();
      socket.write(request, "latin1");
      return await waiting.promise;
    },
    close: () => socket.destroy(),
  };
}

/** An answer that was read to its end. */
export interface Answer {
  readonly status: number;
  /** The status line and the header lines. */
  readonly head: string;
  readonly body: Buffer;
  /** On the wire, with head and framing. */
  readonly bytes: number;
}

const lineEnd = "\r\n";
const headEnd = "\r\n\r\n";

/**
 * Reads HTTP/1.1 answers with a length, in chunks, or with neither: no trailers, and nothing that ends with the
 * connection.
 */
function createAnswerReader(onAnswer: (answer: Answer) => void): (data: Buffer) => void {
  let reading: "head" | "body" | "chunk size" | "chunk" | "line after chunk" | "last line" = "head";
  let text = "";
  let head = "";
  let body: Buffer[] = [];
  let bytes = 0;
  let left = 0;

  return (data) => {
    for (let at = 0; at < data.length;) {
      const isText = reading === "head" || reading === "chunk size";
      const end = isText ? readText(data, at) : readBytes(data, at);
      bytes += end - at;
      at = end;
      if (left === 0) advance();
    }
  };

  /** Sets `left` to 0 when the text is complete. */
  function readText(data: Buffer, at: number): number {
    const mark = reading === "head" ? headEnd : lineEnd;
    const before = text.length;
    text += data.toString("latin1", at);
    const length = text.indexOf(mark);
    left = length === -1 ? 1 : 0;
    if (length === -1) return data.length;
    text = text.slice(0, length);
    return at + length + mark.length - before;
  }

  function readBytes(data: Buffer, at: number): number {
    const end = Math.min(at + left, data.length);
    left -= end - at;
    if (reading === "body" || reading === "chunk") body.push(data.subarray(at, end));
    return end;
  }

  /** What was being read is complete. */
  function advance(): void {
    if (reading === "head") {
      head = text;
      left = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
      const isChunked = /\r\ntransfer-encoding: chunked/i.test(head);
      reading = isChunked ? "chunk size" : "body";
      if (!isChunked && left === 0) finish();
    } else if (reading === "chunk size") {
      const size = Number.parseInt(text, 16);
      left = size === 0 ? lineEnd.length : size;
      reading = size === 0 ? "last line" : "chunk";
    } else if (reading === "chunk") {
      left = lineEnd.length;
      reading = "line after chunk";
    } else if (reading === "line after chunk") {
      reading = "chunk size";
    } else {
      finish();
    }
    text = "";
  }

  function finish(): void {
    const whole = body.length === 1 ? body[0]! : Buffer.concat(body);
    const answer = { status: Number(head.slice(9, 12)), head, body: whole, bytes };
    [reading, body, bytes] = ["head", [], 0];
    onAnswer(answer);
  }
}
