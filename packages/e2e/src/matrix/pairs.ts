import { type ClientName, clientNames } from "../clients/index.ts";

/** Whether every server is tested with every client: `npm run test:matrix`. */
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

/**
 * Servers, each with the clients that it is tested with: in `npm test` the first servers with a share of the
 * clients, in the matrix what is left.
 *
 * @param count how many servers `npm test` has
 */
export function withClients<SERVER extends object>(
  servers: readonly SERVER[],
  count = servers.length,
): (SERVER & { clients: ClientName[] })[] {
  const some = pairs(servers, clientNames);
  return servers.flatMap((server, index) => {
    const own = some.filter(([row]) => row === server).map(([, client]) => client);
    if (index < count) return [{ ...server, clients: own }];
    return isMatrix ? [{ ...server, clients: [...clientNames] }] : [];
  });
}
