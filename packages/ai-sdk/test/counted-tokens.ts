import { type NotebookServer, on } from "../../sessions/test/notebook-server.ts";
import type { ConnectionContext, ConnectionToken } from "../src/index.ts";

/** Tokens "token-1", "token-2" …, and how they were asked for. */
export function countedTokens(token: (count: number) => Partial<ConnectionToken> = () => ({})) {
  const contexts: ConnectionContext[] = [];
  const getToken = (context: ConnectionContext) => {
    const count = contexts.push(context);
    return Promise.resolve({ token: `token-${count}`, ...token(count) });
  };
  return { contexts, auth: { getToken } };
}

/** The `Authorization` of each request that arrived. */
export const authorizations = ({ requests }: NotebookServer) =>
  requests.map(({ headers }) => headers.authorization);

/** Refuses the next `times` requests for this method with 401. */
export function refuse(server: NotebookServer, method: string, times: number): void {
  let left = times;
  server.intercept(
    on(method, (_, response) => {
      if (left === 0) return "next";
      left -= 1;
      response.writeHead(401).end("who are you");
      return undefined;
    }),
  );
}
