/** Writes `.env.local` at the first start: a copy of `.env.example` with keys of its own. */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";

if (!existsSync(".env.local")) {
  const example = readFileSync(".env.example", "utf8");
  const withKeys = example.replaceAll(
    /^(COOKIE_SECRET|SEALING_KEY|STATE_KEY)=$/gm,
    (line) => line + randomBytes(32).toString("base64"),
  );
  writeFileSync(".env.local", withKeys, { mode: 0o600 });
  console.log("Wrote .env.local, with new keys.");
}
