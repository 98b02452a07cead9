import type { Exchange, WholeAnswer } from "../wire/front.ts";

/** What a server, or what stands before it, does instead of answering as it should. */
type Act = (exchange: Exchange) => Promise<void>;

const json = { "content-type": "application/json" };
const events = { "content-type": "text/event-stream" };

const never = () => new Promise<void>(() => {});

/** Refuses, and the server never hears of the request. */
export const refuse =
  (status: number): Act =>
  async ({ answer }) =>
    answer({ status, headers: { "content-type": "text/plain" }, body: `refused with ${status}` });

export const tooMany: Act = async ({ answer }) =>
  answer({ status: 429, headers: { "retry-after": "1" }, body: "slow down" });

export const hang: Act = never;

export const askThenHang: Act = async ({ ask }) => {
  await ask();
  await never();
};

export const askThenReset: Act = async ({ ask, reset }) => {
  await ask();
  reset();
};

/** What a gateway says when its server took longer than it waits. */
export const askThenRefuse =
  (status: number): Act =>
  async ({ ask, answer }) => {
    await ask();
    answer({ status, headers: {}, body: "" });
  };

/** As gateways in clouds say it. */
export const askThenTimeout: Act = async ({ ask, answer }) => {
  await ask();
  answer({ status: 504, headers: json, body: '{"message":"Endpoint request timed out"}' });
};

/** As proxies say it whose connection to the server broke. */
export const askThenBadGateway: Act = async ({ ask, answer }) => {
  await ask();
  const body = "<html><head><title>502 Bad Gateway</title></head></html>";
  answer({ status: 502, headers: { "content-type": "text/html" }, body });
};

export const headersThenHang: Act = async ({ ask, response }) => {
  const { status, headers } = await ask();
  response.writeHead(status, headers).flushHeaders();
  await never();
};

export const resetAfterHeaders: Act = async ({ ask, response, reset }) => {
  const { status, headers } = await ask();
  response.writeHead(status, headers).flushHeaders();
  await soon();
  reset();
};

export const resetMidBody: Act = async ({ ask, response, reset }) => {
  const { status, headers, body } = await ask();
  response.writeHead(status, headers).write(body.slice(0, body.length / 2));
  await soon();
  reset();
};

/** The stream ends as if all were well. */
export const truncate: Act = async ({ ask, response }) => {
  const { status, headers, body } = await ask();
  response.writeHead(status, headers).end(body.slice(0, body.length / 2));
};

export const heartbeatForEver: Act = async ({ ask, response }) => {
  const { status, headers } = await ask();
  response.writeHead(status, { ...headers, ...events }).flushHeaders();
  await writeUntilGone(response, ": still there\n\n");
};

export const endlessRefusal: Act = async ({ response }) => {
  response.writeHead(500, { "content-type": "text/plain" });
  await writeUntilGone(response, "trouble ".repeat(1_024));
};

async function writeUntilGone(response: Exchange["response"], text: string): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => response.write(text), 20);
    response.on("close", () => {
      clearInterval(timer);
      resolve();
    });
  });
}

export const html: Act = async ({ answer }) =>
  answer({
    status: 200,
    headers: { "content-type": "text/html" },
    body: "<!doctype html><title>Welcome</title>",
  });

/** As the specification has it for a resource; the session is well. */
export const notFoundResource: Act = async (exchange) => {
  if (exchange.rpcMethod !== "tools/call") return await exchange.pass();
  const error = { code: -32_002, message: "Resource not found" };
  exchange.answer(rpc(404, { id: exchange.message.id, error }));
};

/** Words that a session router might use too. */
export const otherSessionExpired: Act = async (exchange) => {
  if (exchange.rpcMethod !== "tools/call") return await exchange.pass();
  const error = { code: -32_000, message: "Login session expired. Sign in to the shop again." };
  exchange.answer(rpc(400, { id: exchange.message.id, error }));
};

function rpc(status: number, message: object): WholeAnswer {
  return { status, headers: json, body: JSON.stringify({ jsonrpc: "2.0", ...message }) };
}

export const cutJson: Act = async ({ ask, answer }) => {
  const { status, headers, body } = await ask();
  const text = JSON.stringify(messageIn(body));
  answer({ status, headers: { ...headers, ...json }, body: text.slice(0, text.length / 2) });
};

/** Each line of the JSON is a `data` line of its own. */
export const byteOrderMark: Act = async ({ ask, answer }) => {
  const { status, headers, body } = await ask();
  const lines = JSON.stringify(messageIn(body), null, 1).split("\n");
  const data = lines.map((line) => `data: ${line}\n`).join("");
  answer({ status, headers: { ...headers, ...events }, body: `\u{FEFF}${data}\n` });
};

export const oddEventId: Act = async ({ ask, response, reset }) => {
  const { status, headers } = await ask();
  response.writeHead(status, { ...headers, ...events }).write("id: ☃\ndata: \n\n");
  await soon();
  reset();
};

export const otherId: Act = async ({ ask, answer }) => {
  const { status, headers, body } = await ask();
  const message = { ...messageIn(body), id: "of somebody else" };
  answer({ status, headers: { ...headers, ...json }, body: JSON.stringify(message) });
};

export const cursor =
  (nextCursor: string): Act =>
  async ({ ask, answer }) => {
    const { status, headers, body } = await ask();
    const message = messageIn(body) as { result?: object };
    const result = { ...message.result, nextCursor };
    answer({
      status,
      headers: { ...headers, ...json },
      body: JSON.stringify({ ...message, result }),
    });
  };

/** The one message of an answer, JSON or events. */
function messageIn(body: string): object {
  const line = body.split("\n").find((text) => /^(data: ?)?\{/.test(text)) ?? "{}";
  return JSON.parse(line.replace(/^data: ?/, "")) as object;
}

/** As long as bytes need to arrive. */
export const soon = () => new Promise((resolve) => setTimeout(resolve, 10));
