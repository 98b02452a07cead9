import type { StorePlace } from "../durable/store-place.ts";

export const anyClientNames = ["@ai-sdk/mcp 2", "SDK v1", "client v2 (auto)"] as const;
export type AnyClientName = (typeof anyClientNames)[number];

/** What a client is given of `oauth.connect`: its `fetch`, its `authProvider` as well, or a session fetch over its `fetch`. */
export const connectWays = ["fetch", "fetch and authProvider", "session fetch"] as const;
export type ConnectWay = (typeof connectWays)[number];

/** Of the application that all processes belong to: plain JSON. */
export interface Application {
  readonly place: StorePlace;
  /** The sealing key, in base64. */
  readonly key: string;
  readonly redirectUrl: string;
}

/** What a process with a client of somebody else is told. */
export type ClientTask =
  | {
      readonly type: "connect";
      readonly application: Application;
      readonly url: string;
      /** The id of the principal. */
      readonly user: string;
      readonly client: AnyClientName;
      readonly way: ConnectWay;
    }
  | { readonly type: "call"; readonly tool: string; readonly args: Record<string, unknown> };

/** What it says. */
export type ClientReport =
  | { readonly type: "done"; readonly text: string }
  | {
      readonly type: "failed";
      /** Of the first `McpSessionError` in the chain of causes. */
      readonly code: string | undefined;
      readonly scopes: readonly string[] | undefined;
      readonly startUrl: string | undefined;
      /** How many causes lie above it. */
      readonly depth: number;
      readonly said: string;
    };
