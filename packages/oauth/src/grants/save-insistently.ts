import { wait } from "@durable-mcp/core/internal";

/** How often something is written where the store fails: nobody else can. */
const maxSaves = 5;

/**
 * Saves new tokens, or their end, again where the store fails. A store that failed may have written all the same.
 *
 * @throws {McpSessionError} `STORE_FAILED`, after some seconds
 */
export async function saveInsistently<T>(save: () => Promise<T>): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await save();
    } catch (error) {
      if (failures >= maxSaves) throw error;
      await wait(100 * 2 ** failures);
    }
  }
}
