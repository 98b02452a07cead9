import { StringDecoder } from "node:string_decoder";

/** More than any model could read, in characters. */
const maxLength = 64 * 1024 * 1024;

/**
 * Splits a byte stream into lines.
 *
 * @returns takes the next chunk and returns the lines that it completes, without line ends
 * @throws {RangeError} when a line gets longer than 64 Mi characters
 */
export function createLineSplitter(): (chunk: Buffer) => string[] {
  const decoder = new StringDecoder("utf8");
  let parts: string[] = [];
  let length = 0;
  return (chunk) => {
    const [first = "", ...others] = decoder.write(chunk).split("\n");
    parts.push(first);
    length += first.length;
    if (length > maxLength) throw new RangeError(`a line of more than ${maxLength} characters`);
    if (others.length === 0) return [];
    const last = others.pop() ?? "";
    const lines = [parts.join(""), ...others];
    parts = [last];
    length = last.length;
    return lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  };
}
