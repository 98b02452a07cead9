import { createHash, timingSafeEqual } from "node:crypto";
import type { Server } from "node:http";
import { CommandFailure, wrongUsage } from "../output/command-failure.ts";

/** @throws {CommandFailure} that names the option */
export async function listen(server: Server, port: number, host: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EADDRINUSE") throw new CommandFailure(`--host: ${error.message}`);
    throw wrongUsage(`--port: ${port} is in use. Give another.`);
  });
}

/** Waits for SIGINT or SIGTERM. A second one ends the process at once. */
export async function asked(): Promise<void> {
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
}

const digest = (text: string) => createHash("sha256").update(text).digest();

/** Compares secrets, in a time that tells nothing of them. */
export const isSame = (one: string, other: string) => timingSafeEqual(digest(one), digest(other));
