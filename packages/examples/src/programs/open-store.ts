import { type OpenedStore, openStore as openAt } from "@durable-mcp/stores/open";

/** Opens the store at a place: the address of a database, or a SQLite file. */
export const openStore = async (place: string): Promise<OpenedStore> =>
  await openAt(/^\w+:\/\//.test(place) ? place : `file:${place}`);
