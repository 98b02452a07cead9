export interface SseEvent {
  readonly type: string;
  readonly data: string;
}

/**
 * What the events of a whole SSE text are, after the letter of the specification: the other
 * opinion that the streaming, byte-wise splitter is checked against.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export function parseEvents(text: string): {
  events: SseEvent[];
  lastEventId: string | undefined;
  retryMs: number | undefined;
} {
  const events: SseEvent[] = [];
  let type = "";
  let data = "";
  let idBuffer: string | undefined;
  let lastEventId: string | undefined;
  let retryMs: number | undefined;
  for (const line of text
    .replace(/^\uFEFF/, "")
    .split(/\r\n|\n|\r/)
    .slice(0, -1)) {
    if (line === "") {
      lastEventId = idBuffer;
      if (data !== "") events.push({ type, data: data.slice(0, -1) });
      [type, data] = ["", ""];
      continue;
    }
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") type = value;
    else if (field === "data") data += `${value}\n`;
    else if (field === "id" && !value.includes("\0")) idBuffer = value;
    else if (field === "retry" && /^[0-9]+$/.test(value)) retryMs = Number(value);
  }
  return { events, lastEventId, retryMs };
}
