// Renders the chat of a page into a document, and waits until it shows the messages and the question of its route.
import { setTimeout as wait } from "node:timers/promises";
import type { Given } from "./world.ts";
import { load } from "./load.ts";

export async function renderChat(Chat: any, { take }: Given) {
  const waiting = [await take("question")];
  const parts = [{ type: "text", text: "Hello from the route." }];
  const messages = [{ id: "1", role: "assistant", parts }];
  const { Window } = await load("happy-dom");
  const window = new Window({ url: "https://app.example/" });
  const ofPage = ["window", "document", "HTMLElement", "Element", "Node", "FormData"];
  for (const name of ofPage) {
    Object.defineProperty(globalThis, name, { value: window[name], configurable: true });
  }
  globalThis.fetch = async () => Response.json({ messages, waiting });
  const [{ createElement }, { createRoot }] = await Promise.all([
    load("react"),
    load("react-dom/client"),
  ]);
  const place = document.createElement("div");
  createRoot(place).render(createElement(Chat, { id: "chat 1" }));
  for (let tries = 0; tries < 100; tries += 1) {
    const text = place.textContent ?? "";
    if (text.includes("Hello from the route.") && text.includes("Order tea?")) return;
    await wait(50);
  }
  throw new Error(`The page shows: ${place.innerHTML}`);
}
