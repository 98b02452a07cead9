import { utf8 } from "./byte-parts.ts";

/** Latin-1 without control characters. HTTP would drop white space at the ends. */
const carriable = /^(?! )[\x20-\x7E\xA0-\xFF]+(?<! )$/;

/**
 * The value of the `Last-Event-ID` header: one character for each byte of the id in UTF-8, because a
 * fetch sends each character of a header as one byte. `undefined` for an id that no header can carry. The
 * stream cannot be resumed from it.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#the-last-event-id-header
 */
export function lastEventIdHeader(id: string): string | undefined {
  return carriable.test(id) ? String.fromCharCode(...utf8(id)) : undefined;
}
