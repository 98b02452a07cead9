import type { OpenedStore } from "@durable-mcp/testing/store";
import { createFolderStore } from "./folder-store.ts";

/** Opens a folder, for processes of the suite for stores. */
export default function openFolder(folder: string): OpenedStore {
  return { store: createFolderStore(folder) };
}
