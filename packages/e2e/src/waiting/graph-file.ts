import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { MemorySaver } from "@langchain/langgraph";

/** LangGraph's own checkpointer, in a file that it writes at once, so that a kill loses nothing. */
export class FileSaver extends MemorySaver {
  readonly #path: string;

  constructor(path: string) {
    super();
    this.#path = path;
    if (!existsSync(path)) return;
    const { storage, writes } = JSON.parse(readFileSync(path, "utf8"), revive) as FileSaver;
    Object.assign(this.storage, storage);
    Object.assign(this.writes, writes);
  }

  override async put(...args: Parameters<MemorySaver["put"]>) {
    const saved = await super.put(...args);
    this.#write();
    return saved;
  }

  override async putWrites(...args: Parameters<MemorySaver["putWrites"]>) {
    await super.putWrites(...args);
    this.#write();
  }

  #write() {
    const { storage, writes } = this;
    writeFileSync(this.#path, JSON.stringify({ storage, writes }, replace));
  }
}

function replace(_key: string, value: unknown): unknown {
  if (!(value instanceof Uint8Array)) return value;
  return { bytes: Buffer.from(value).toString("base64") };
}

function revive(_key: string, value: unknown): unknown {
  const { bytes } = (value ?? {}) as { bytes?: unknown };
  return typeof bytes === "string" ? new Uint8Array(Buffer.from(bytes, "base64")) : value;
}
