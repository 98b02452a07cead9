import { type ClientName, clientNames } from "../clients/index.ts";

/** Whether every server is tested with every client: `npm run test:matrix`. */
export const isMatrix = process.env["TEST_MATRIX"] === "1";

/** Every row with every column in the matrix; in `npm test` a share, in which each occurs at least once. */
export function pairs<ROW, COLUMN>(
  rows: readonly ROW[],
  columns: readonly COLUMN[],
): (readonly [ROW, COLUMN])[] {
  if (isMatrix) return rows.flatMap((row) => columns.map((column) => [row, column] as const));
  return Array.from({ length: Math.max(rows.length, columns.length) }, (_, index) => [
    rows[index % rows.length]!,
    columns[index % columns.length]!,
  ]);
}

/** All of them in the matrix; in `npm test` the first ones. */
export function share<T>(all: readonly T[], count: number): readonly T[] {
  return isMatrix ? all : all.slice(0, count);
}

/** Servers, each with the clients that it is tested with. */
export function withClients<SERVER extends object>(
  servers: readonly SERVER[],
): (SERVER & { clients: ClientName[] })[] {
  const all = pairs(servers, clientNames);
  return servers.map((server) => ({
    ...server,
    clients: all.filter(([row]) => row === server).map(([, client]) => client),
  }));
}
