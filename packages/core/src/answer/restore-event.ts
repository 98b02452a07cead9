import { type ByteParts, partsText, replaceBytes, utf8 } from "../wire/byte-parts.ts";
import { type EventBytes, eventText } from "../wire/event-splitter.ts";
import { parseMessages } from "../wire/json-rpc.ts";
import type { AnswerRestorer, MessageEdit } from "./restore-answer.ts";

/** The bytes of a message with its edit. */
export function edited(parts: ByteParts, edit: MessageEdit): ByteParts {
  if (edit === "drop" || edit === "taken") return [];
  return edit ? replaceBytes(parts, edit) : parts;
}

/** An event under way of more bytes than this is a message that takes its time. */
export const longEvent = 16_384;

/** Whether an event has a JSON-RPC message; an event id or a `ping` is no word about the request. */
export function isMessage(event: EventBytes): boolean {
  const isOfMessages = event.type === "" || event.type === "message";
  return isOfMessages && parseMessages(eventText(event)) !== undefined;
}

/** `@ai-sdk/mcp` takes an event without data for a message that it cannot read. Its id is for all who can resume. */
function asOpening({ parts, type }: EventBytes): string {
  const text = partsText(parts, 0, Infinity);
  return type === "" ? `event: open\n${text}` : text.replace(/^event:.*/m, "event: open");
}

/** Gives the id of an event for the client, in the place of the server's. */
export type EventSeal = (eventId: string) => string;

/** The event under a sealed id. */
function sealed(event: EventBytes, seal: EventSeal): EventBytes {
  const { parts, id, idLine, data, multiline } = event;
  if (idLine === undefined) return event;
  const text = `id: ${seal(id ?? "")}`;
  const longer = text.length - (idLine.end - idLine.start);
  const isBefore = data !== undefined && data.start > idLine.start;
  const otherLines = multiline?.otherLines.map((line) => (/^id(?::|$)/.test(line) ? text : line));
  return {
    ...event,
    parts: replaceBytes(parts, { ...idLine, text }),
    ...(isBefore && { data: { start: data.start + longer, end: data.end + longer } }),
    ...(multiline && otherLines && { multiline: { ...multiline, otherLines } }),
  };
}

/** An event of the server as the client gets it. */
export function restoreEvent(
  received: EventBytes,
  restore: AnswerRestorer,
  seal?: EventSeal,
): ByteParts {
  const event = seal ? sealed(received, seal) : received;
  if (event.type !== "" && event.type !== "message") return event.parts;
  if (event.data !== undefined && event.data.start === event.data.end)
    return [utf8(asOpening(event))];
  if (event.data !== undefined) {
    const { start, end } = event.data;
    return edited(event.parts, restore(event.parts, start, end));
  }
  if (event.multiline === undefined) return event.parts;
  const { data, otherLines } = event.multiline;
  const bytes = utf8(data);
  const edit = restore([bytes], 0, bytes.length);
  if (typeof edit !== "object") return edited(event.parts, edit);
  if (edit.end - edit.start === bytes.length) {
    return [utf8([...otherLines, `data: ${edit.text}`, "", ""].join("\n"))];
  }
  const restored = replaceBytes([bytes], edit);
  // Not /^/gm: that also matches after U+2028, which does not end a line here.
  const dataLines = partsText(restored, 0, Infinity).split("\n");
  const lines = [...otherLines, ...dataLines.map((line) => `data: ${line}`), "", ""];
  return [utf8(lines.join("\n"))];
}
