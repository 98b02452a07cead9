declare module "dynalite" {
  /** A server of HTTP that keeps its tables in memory. */
  export default function dynalite(options?: {
    readonly createTableMs?: number;
  }): import("node:http").Server;
}
