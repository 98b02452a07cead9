import { type JsonRpcRequest, type Principal, principalParts } from "@durable-mcp/core";
import { type JsonRpcResponse, readAnswer, within } from "@durable-mcp/core/internal";
import type { McpStdioConnection } from "../base/centre.ts";
import { ownInitialize } from "../base/own-initialize.ts";
import { type ProgramChild, startChild } from "./program-child.ts";

type Handshake = { readonly child: ProgramChild; readonly answer: JsonRpcResponse };

/** Starts the processes of a program, up to their answer to `initialize`. */
export function createProgramStart(definition: McpStdioConnection, connection: string) {
  const { connectMs = 30_000 } = definition.options.timeouts ?? {};
  const shared = new Map<string, Promise<Handshake>>();
  let isClosed = false;

  const start = async (message: JsonRpcRequest, principal: Principal): Promise<Handshake> => {
    const child = await startChild(definition, connection, principal);
    const answering = child
      .request(message)
      .then(async (given) => await readAnswer(given, message.id))
      .catch(() => undefined);
    const answer = (await within(connectMs, answering)) ? await answering : undefined;
    if (answer && !isClosed) return { child, answer };
    const failure = child.failure();
    // It may take longer than its client waits.
    void child.close();
    throw failure;
  };
  const startShared = async (principal: Principal): Promise<Handshake> => {
    const handshake = await start(ownInitialize("gateway.0", definition), principal);
    const told = { jsonrpc: "2.0", method: "notifications/initialized" } as const;
    // One that has ended since is noticed by whoever shares it.
    await handshake.child.send(told).catch(() => undefined);
    return handshake;
  };
  const share = async (principal: Principal): Promise<Handshake> => {
    const key = JSON.stringify(principalParts(principal));
    const known = shared.get(key);
    const runs = await known?.then(({ child }) => !child.isOver).catch(() => false);
    // One starts it for all that ask at once.
    if (!runs && shared.get(key) === known) shared.set(key, startShared(principal));
    return await shared.get(key)!;
  };

  return {
    /** One for a session. @throws {McpSessionError} with the reason, and the end of its output */
    start,
    /** The one that all sessions of a principal have. @throws as `start` */
    share,
    /** Ends those that are shared, and those that start now. */
    async close(): Promise<void> {
      isClosed = true;
      const handshakes = [...shared.values()].map((sharing) => sharing.catch(() => undefined));
      const children = (await Promise.all(handshakes)).flatMap((each) => each?.child ?? []);
      await Promise.allSettled(children.map((child) => child.close()));
    },
  };
}
