import { request as send } from "node:http";
import {
  type ReceivedRequest,
  startHttpServer,
  type TestHttpServer,
} from "../../core/test/http-server.ts";

/** The bearer token of a request, and the request. */
type Judge = (token: string | undefined, request: ReceivedRequest) => Refusal | undefined;

interface Refusal {
  readonly status: number;
  /** For `WWW-Authenticate`. */
  readonly challenge?: string;
}

export interface LockedServer extends TestHttpServer {
  readonly url: string;
  /** Judges requests from now on. */
  readonly judge: (judge: Judge) => void;
  /** The token of each POST, whether it was let in or not. */
  readonly tokens: () => (string | undefined)[];
}

export const invalidToken: Refusal = { status: 401, challenge: 'Bearer error="invalid_token"' };

/** Stands before a server, and only lets in requests that `judge` has nothing against. */
export async function lock(
  { origin, url }: { origin: string; url: string },
  judge: Judge = () => undefined,
): Promise<LockedServer> {
  let current = judge;
  const server = await startHttpServer((request, response) => {
    const refusal = current(tokenOf(request), request);
    if (refusal !== undefined) {
      const { status, challenge } = refusal;
      const headers = challenge === undefined ? {} : { "www-authenticate": challenge };
      response.writeHead(status, headers).end("not you");
      return;
    }
    const { method, path, headers, message } = request;
    const passed = send(new URL(path, origin), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
      response.on("close", () => answer.destroy());
    });
    passed.on("error", () => response.destroy());
    passed.end(message === undefined ? undefined : JSON.stringify(message));
  });
  return Object.assign(server, {
    url: server.origin + new URL(url).pathname,
    judge: (next: Judge) => void (current = next),
    tokens: () => server.requests.filter(({ method }) => method === "POST").map(tokenOf),
  });
}

const tokenOf = ({ headers }: ReceivedRequest) =>
  /^Bearer (.*)$/.exec(headers.authorization ?? "")?.[1];
