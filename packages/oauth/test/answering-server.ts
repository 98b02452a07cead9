import type { ServerResponse } from "node:http";
import { type LoopbackServer, startLoopbackServer } from "./loopback-server.ts";

type Respond = (response: ServerResponse) => void;

/** An answer: a JSON value with status 200, or what is done with the response. */
export type Answer = Readonly<Record<string, unknown>> | Respond;

/** A server that answers each path as it is told, and any other with a 404. */
export async function startAnsweringServer(
  answers: (origin: string) => Readonly<Record<string, Answer>>,
): Promise<LoopbackServer & { readonly paths: () => string[] }> {
  const server = await startLoopbackServer((request, response) => {
    const answer = answers(server.origin)[request.url!] ?? status(404, { error: "not_found" });
    if (typeof answer === "function") answer(response);
    else status(200, answer)(response);
  });
  return { ...server, paths: () => server.requests.map(({ url }) => url!) };
}

/** A whole answer. A text is a page. */
export function status(code: number, body: unknown, type?: string): Respond {
  const isText = typeof body === "string";
  return (response) => {
    response.writeHead(code, {
      "content-type": type ?? (isText ? "text/html" : "application/json"),
    });
    response.end(isText ? body : JSON.stringify(body));
  };
}

/** The connection breaks before an answer. */
export const cut: Answer = (response) => response.socket!.destroy();

/** The connection breaks within an answer. */
export function cutWithin(code: number): Answer {
  return (response) => {
    response.writeHead(code, { "content-type": "application/json" });
    response.write('{"access_token":"half', () => response.socket!.destroy());
  };
}

/** An answer that does not end. */
export const endless: Answer = (response) => {
  response.writeHead(200, { "content-type": "application/json" });
  response.write('{"access_token":');
};

/** More than 1 MiB. */
export const huge: Answer = status(
  200,
  `{"access_token":"${"x".repeat(1_100_000)}"}`,
  "application/json",
);
