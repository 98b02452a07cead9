import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface OrderPage {
  url: string;
  /** What browsers did with the page so far. */
  visits: { loads: number; orders: { name: string; drink: string }[] };
  close: () => void;
}

/** Serves a page with a form, and counts how often it is loaded and sent. */
export async function serveOrderPage(): Promise<OrderPage> {
  const visits: OrderPage["visits"] = { loads: 0, orders: [] };

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader("content-type", "text/html; charset=utf-8");
    if (request.method === "GET" && request.url === "/") {
      visits.loads += 1;
      response.end(html("Order a drink", orderForm));
    } else if (request.method === "POST") {
      const form = new URLSearchParams(await text(request));
      const { name = "", drink = "" } = Object.fromEntries(form);
      visits.orders.push({ name, drink });
      response.end(html(`Thank you, ${name}`, `<p>Your ${drink} is on its way.</p>`));
    } else {
      response.writeHead(404).end();
    }
  }
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    visits,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

const orderForm = `<form method="post">
  <p><label>Name <input id="name" name="name"></label></p>
  <p><label>Drink <input id="drink" name="drink"></label></p>
  <button id="send">Send</button>
</form>`;

function html(title: string, body: string): string {
  return `<!doctype html><title>${title}</title>
    <style>body { font: 20px sans-serif; margin: 3em }</style><h1>${title}</h1>${body}`;
}
