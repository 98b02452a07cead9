import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** All that the local world has written, as text: values are in base64 in its files. */
export function eventLogText(dataDir: string): string {
  return readdirSync(dataDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"))
    .map((text) =>
      text.replaceAll(/"data": ?"([\w+/=]+)"/g, (_, data: string) =>
        Buffer.from(data, "base64").toString("utf8"),
      ),
    )
    .join("\n");
}
