import { stripVTControlCharacters } from "node:util";
import { scrubSecrets } from "../errors/scrub-secrets.ts";

/** The kept output, in characters. It is longer than a quote, so that no secret is cut in two. */
const keptLength = 16_000;
const quotedLength = 2_000;
const quotedLines = 20;

/** The end of a server's output. */
export interface OutputTail {
  append(text: string): void;
  /** The last lines, without secrets and terminal codes. Empty if the server printed nothing. */
  quote(): string;
}

/** @param secrets values that are never quoted */
export function createOutputTail(secrets: readonly string[]): OutputTail {
  let kept = "";
  return {
    append(text) {
      kept = (kept + text).slice(-keptLength);
    },
    quote() {
      const clean = scrubSecrets(stripVTControlCharacters(kept), secrets)
        // oxlint-disable-next-line no-control-regex -- that is what is taken out
        .replaceAll(/[\0-\x08\x0B-\x1F\x7F]/g, "")
        .trim();
      return clean.split("\n").slice(-quotedLines).join("\n").slice(-quotedLength);
    },
  };
}
