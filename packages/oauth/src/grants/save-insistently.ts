import { tryInsistently } from "@durable-mcp/core/internal";

/** How long something is written where the store fails, in milliseconds: nobody else can. */
const saveMs = 3_000;

/**
 * Saves new tokens, or their end, again where the store fails. A store that failed may have written all the same.
 *
 * @throws {McpSessionError} `STORE_FAILED`, after some seconds
 */
export const saveInsistently = <T>(save: () => Promise<T>) => tryInsistently(saveMs, save);
