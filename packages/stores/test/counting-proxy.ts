import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** What a client of a database has sent since the last look. */
interface WireCount {
  /** Of Redis a command's name; of PostgreSQL the types of the messages up to `Sync`, such as "BDES". */
  readonly commands: readonly string[];
  /** How often the client sent something after all that it had got, over all connections. */
  readonly roundTrips: number;
}

export interface CountingProxy {
  readonly port: number;
  /** What came since the last look. */
  readonly take: () => WireCount;
  readonly close: () => Promise<void>;
}

/** Reads commands from what a client sends, in pieces of any size. */
type ReadCommands = (piece: Buffer) => readonly string[];

const readers: Readonly<Record<"postgres" | "redis", () => ReadCommands>> = {
  postgres: readPostgres,
  redis: readRedis,
};

/** A network between a client and a database on a port of 127.0.0.1, which counts what the client sends. */
export async function startCountingProxy(
  speaks: keyof typeof readers,
  target: number,
): Promise<CountingProxy> {
  let commands: string[] = [];
  let roundTrips = 0;
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (client) => {
    sockets.add(client);
    const read = readers[speaks]();
    let isAnswered = true;
    const upstream = connect({ port: target, host: "127.0.0.1", noDelay: true });
    client.on("data", (piece) => {
      commands.push(...read(piece));
      if (isAnswered) roundTrips += 1;
      isAnswered = false;
      upstream.write(piece);
    });
    upstream.on("data", (piece) => {
      isAnswered = true;
      client.write(piece);
    });
    client.on("error", () => undefined).on("close", () => upstream.destroy());
    client.on("close", () => sockets.delete(client));
    upstream.on("error", () => undefined).on("close", () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    take() {
      const taken = { commands, roundTrips };
      [commands, roundTrips] = [[], 0];
      return taken;
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** @see https://www.postgresql.org/docs/15/protocol-message-formats.html */
function readPostgres(): ReadCommands {
  let rest: Buffer = Buffer.alloc(0);
  let isStarted = false;
  let types = "";
  return (piece) => {
    rest = Buffer.concat([rest, piece]);
    const commands: string[] = [];
    for (;;) {
      // The first message has no type.
      const head = isStarted ? 1 : 0;
      if (rest.length < head + 4) return commands;
      const length = head + rest.readInt32BE(head);
      if (rest.length < length) return commands;
      const type = isStarted ? String.fromCharCode(rest[0]!) : "startup";
      rest = rest.subarray(length);
      isStarted = true;
      types += type;
      if (!["startup", "S", "Q"].includes(type)) continue;
      commands.push(types);
      types = "";
    }
  };
}

/** @see https://redis.io/docs/latest/develop/reference/protocol-spec/ */
function readRedis(): ReadCommands {
  let rest: Buffer = Buffer.alloc(0);
  return (piece) => {
    rest = Buffer.concat([rest, piece]);
    const commands: string[] = [];
    for (let command = readArray(rest); command !== undefined; command = readArray(rest)) {
      commands.push(command.name);
      rest = rest.subarray(command.length);
    }
    return commands;
  };
}

/** The first command of a text, if it is whole. */
function readArray(text: Buffer): { readonly name: string; readonly length: number } | undefined {
  let at = 0;
  const line = () => {
    const end = text.indexOf("\r\n", at);
    if (end === -1) return undefined;
    const read = text.toString("latin1", at, end);
    at = end + 2;
    return read;
  };
  const count = line();
  if (count === undefined) return undefined;
  let name = "";
  for (let index = 0; index < Number(count.slice(1)); index += 1) {
    const size = line();
    if (size === undefined) return undefined;
    const start = at;
    at += Number(size.slice(1)) + 2;
    if (at > text.length) return undefined;
    if (index === 0) name = text.toString("latin1", start, at - 2).toUpperCase();
  }
  return { name, length: at };
}
