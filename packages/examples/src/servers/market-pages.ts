import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface MarketPages {
  url: string;
  /** How often each page was loaded, by its path. */
  loads: Record<string, number>;
  close: () => void;
}

/** Serves a page with a title of its own under any path, and counts how often it is loaded. */
export async function serveMarketPages(): Promise<MarketPages> {
  const loads: Record<string, number> = {};
  const server = createServer(({ url = "/" }, response) => {
    const name = url.slice(1);
    if (!/^[a-z]+$/.test(name)) return void response.writeHead(404).end();
    loads[name] = (loads[name] ?? 0) + 1;
    response.setHeader("content-type", "text/html; charset=utf-8");
    const title = `The ${name}`;
    return void response.end(`<!doctype html><title>${title}</title><h1>${title}</h1>`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    loads,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
