import { once } from "node:events";
import { connect } from "node:net";
import { type Answer, createAnswerReader } from "./answer-reader.ts";

/** One connection, which sends one request after the other. */
export interface HttpCaller {
  readonly send: (request: string) => Promise<Answer>;
  readonly close: () => void;
}

/** A client without a library, as light as can be: it shares the machine with the server that it measures. */
export async function connectCaller(port: number): Promise<HttpCaller> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  await once(socket, "connect");
  let waiting: PromiseWithResolvers<Answer> | undefined;
  const settle = () => {
    const settled = waiting;
    waiting = undefined;
    return settled;
  };
  socket.on(
    "data",
    createAnswerReader((answer) => settle()?.resolve(answer)),
  );
  socket.on("error", (error) => settle()?.reject(error));
  socket.on("close", () => settle()?.reject(new Error("The server closed the connection.")));
  return {
    send(request) {
      waiting = Promise.withResolvers();
      socket.write(request, "latin1");
      return waiting.promise;
    },
    close: () => socket.destroy(),
  };
}
