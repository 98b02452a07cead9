import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What a measured process says of itself. Counts are those since its start. */
export interface ProcessFigures {
  /** User and system time of all its threads, in microseconds. */
  readonly cpuMicroseconds: number;
  readonly residentBytes: number;
  /** Of the heap. */
  readonly heapBytes: number;
  readonly requests: number;
  /** Operations of the store, by name; `batch rows` are the rows of all batches. Empty when they are not counted. */
  readonly operations: Readonly<Record<string, number>>;
}

/** Serves on a port of its own, tells it to the parent process, and answers what the parent asks. */
export function serveAndReport(
  listener: (request: IncomingMessage, response: ServerResponse) => unknown,
  operations: Readonly<Record<string, number>> = {},
): void {
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    void listener(request, response);
  });
  // Callers keep their connections while other servers are measured.
  server.keepAliveTimeout = 600_000;
  server.listen(0, "127.0.0.1", () => {
    report((server.address() as AddressInfo).port, () => ({ requests, operations }));
  });
}

/** For a server that listens already. */
export function report(
  port: number,
  counts: () => Pick<ProcessFigures, "requests" | "operations"> = () => ({
    requests: 0,
    operations: {},
  }),
): void {
  process.on("message", (message) => {
    if (message === "exit") process.exit();
    if (message === "figures without garbage") globalThis.gc!();
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed } = process.memoryUsage();
    const figures: ProcessFigures = {
      cpuMicroseconds: user + system,
      residentBytes: rss,
      heapBytes: heapUsed,
      ...counts(),
    };
    process.send!(figures);
  });
  process.on("disconnect", () => process.exit());
  process.send!({ port });
}
