import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/**
 * - `pass`: nothing is wrong.
 * - `delay`: every piece arrives `delayMs` later.
 * - `drop`: nothing arrives. When the network is back, TCP sends again what was lost meanwhile.
 * - `drop answers`: requests arrive, and nothing comes back.
 * - `reset`: connections break, and so do new ones.
 * - `reset answers`: requests arrive, and the connection breaks at the answer.
 * - `refuse`: connections break, and nobody takes new ones.
 */
export type NetworkMode =
  | "pass"
  | "delay"
  | "drop"
  | "drop answers"
  | "reset"
  | "reset answers"
  | "refuse";

/** A network between a client and a server on a port of 127.0.0.1. */
export interface TcpProxy {
  readonly port: number;
  readonly setMode: (mode: NetworkMode) => Promise<void>;
  /** Breaks the next connection that carries this text, once: before the server gets it, or at its answer. */
  readonly resetOnce: (text: string, at: "request" | "answer") => void;
  /** How often connections broke at their texts. */
  readonly resets: () => number;
  readonly close: () => Promise<void>;
}

const delayMs = 20;

export async function startTcpProxy(target: number): Promise<TcpProxy> {
  let mode: NetworkMode = "pass";
  const sockets = new Set<Socket>();
  /** What is lost until the network is back. */
  const lost: (() => void)[] = [];
  let due: { text: string; at: "request" | "answer" } | undefined;
  let resets = 0;

  const server = createServer((client) => {
    sockets.add(client);
    client.on("close", () => sockets.delete(client)).on("error", () => undefined);
    if (mode === "reset") {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect(target, "127.0.0.1").on("error", () => undefined);
    client.on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroy());
    let isAtAnswer = false;
    const breakDue = () => {
      due = undefined;
      resets += 1;
      client.resetAndDestroy();
    };
    client.on("data", (chunk: Buffer) => {
      const isMet = due !== undefined && chunk.includes(due.text);
      if (isMet && due?.at === "request") return breakDue();
      isAtAnswer ||= isMet;
      carry("request", () => upstream.write(chunk));
    });
    upstream.on("data", (chunk) => {
      if (isAtAnswer && due) breakDue();
      else if (mode === "reset answers") client.resetAndDestroy();
      else carry("answer", () => client.write(chunk));
    });
  });

  const carry = (what: "request" | "answer", deliver: () => void) => {
    if (mode === "drop" || (mode === "drop answers" && what === "answer")) lost.push(deliver);
    // Timers of one duration run in the order in which they were set.
    else if (mode === "delay") setTimeout(deliver, delayMs);
    else deliver();
  };
  const listen = (port: number) =>
    new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const breakAll = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  const stop = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    breakAll();
    await closed;
  };

  await listen(0);
  const { port } = server.address() as AddressInfo;
  return {
    port,
    resetOnce: (text, at) => void (due = { text, at }),
    resets: () => resets,
    async setMode(next) {
      mode = next;
      if (next === "refuse" && server.listening) await stop();
      if (next === "reset") breakAll();
      if (next !== "pass") return;
      for (const deliver of lost.splice(0)) deliver();
      if (!server.listening) await listen(port);
    },
    async close() {
      mode = "pass";
      if (server.listening) await stop();
    },
  };
}
