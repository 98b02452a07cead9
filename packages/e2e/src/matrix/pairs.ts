import { type ClientName, clientNames } from "../clients/index.ts";

/** Whether every server is tested with every client: `npm run lab -- matrix`. */
export const isMatrix = process.env["TEST_MATRIX"] === "1";

/**
 * In `npm test` a share of the pairs, in which each row and each column occurs at least once. In the matrix all
 * others: CI runs both.
 */
export function pairs<ROW, COLUMN>(
  rows: readonly ROW[],
  columns: readonly COLUMN[],
): (readonly [ROW, COLUMN])[] {
  const length = Math.max(rows.length, columns.length);
  const isShared = (row: number, column: number) =>
    Array.from({ length }, (_, at) => [at % rows.length, at % columns.length]).some(
      ([sharedRow, sharedColumn]) => row === sharedRow && column === sharedColumn,
    );
  return rows.flatMap((row, rowAt) =>
    columns.flatMap((column, columnAt) =>
      isShared(rowAt, columnAt) === isMatrix ? [] : [[row, column] as const],
    ),
  );
}

/** The first ones in `npm test`, the others in the matrix. */
export function share<T>(all: readonly T[], count: number): readonly T[] {
  return isMatrix ? all.slice(count) : all.slice(0, count);
}

interface PairsOptions {
  /** How many servers `npm test` has. @default all */
  readonly count?: number;
  /** Which third of the pairs CI has, from 0. Three files together have each pair once. @default all */
  readonly third?: 0 | 1 | 2;
}

/**
 * Servers, each with the clients that it is tested with: in `npm test` the first servers with a share of the
 * clients, in the matrix what is left. `npm run lab -- matrix` has all of that, CI perhaps a third, and
 * `npm run lab -- compatibility` has each server with each client.
 */
export function withClients<SERVER extends object>(
  servers: readonly SERVER[],
  { count = servers.length, third }: PairsOptions = {},
): (SERVER & { clients: ClientName[] })[] {
  const some = pairs(servers, clientNames);
  const isLess = isMatrix && process.env["CI"] === "true" && third !== undefined;
  return servers.flatMap((server, index) => {
    const own = some.filter(([row]) => row === server).map(([, client]) => client);
    const all = index < count ? own : isMatrix ? [...clientNames] : [];
    const clients = all.filter(
      (client) => !isLess || (index + clientNames.indexOf(client)) % 3 === third,
    );
    return clients.length > 0 ? [{ ...server, clients }] : [];
  });
}
