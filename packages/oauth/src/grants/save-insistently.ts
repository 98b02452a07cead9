import { wait } from "@durable-mcp/core/internal";

/** How often tokens are saved where the store fails: nobody else has them. */
const maxSaves = 5;

/**
 * Saves new tokens, again where the store fails. A store that failed may have written all the same.
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
