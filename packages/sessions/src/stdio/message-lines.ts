/** A line that was not kept whole: its two ends. */
export interface LongLine {
  readonly head: Buffer;
  readonly tail: Buffer;
}

/** More than any model could read, in bytes. */
const maxBytes = 64 * 1024 * 1024;
/** What is kept of each end of a longer line, in bytes. */
const endBytes = 512;
const nothing = Buffer.alloc(0);

/**
 * Splits a byte stream into lines. It holds one line of 64 MiB at most. Of a longer line it only keeps the
 * two ends.
 *
 * @param onLine gets each line, without its line feed. The bytes are only valid during the call.
 * @returns takes the next chunk
 */
export function createLineReader(
  onLine: (line: Buffer) => void,
  onLongLine: (line: LongLine) => void,
): (chunk: Buffer) => void {
  /** The beginning of a line. Its size doubles, so that many small chunks cost little each. */
  let held = nothing;
  let length = 0;
  let long: LongLine | undefined;

  const hold = (bytes: Buffer) => {
    if (long !== undefined) {
      const tail = Buffer.concat([long.tail, bytes.subarray(-endBytes)]).subarray(-endBytes);
      long = { ...long, tail };
      return;
    }
    if (length + bytes.length > maxBytes) {
      const head = Buffer.concat([held.subarray(0, Math.min(length, endBytes)), bytes]);
      const tail = held.subarray(Math.max(0, length - endBytes), length);
      long = { head: Buffer.from(head.subarray(0, endBytes)), tail: Buffer.from(tail) };
      held = nothing;
      length = 0;
      return hold(bytes);
    }
    if (length + bytes.length > held.length) {
      const size = Math.max(2 * held.length, length + bytes.length);
      const larger = Buffer.allocUnsafe(Math.min(size, maxBytes));
      held.copy(larger, 0, 0, length);
      held = larger;
    }
    bytes.copy(held, length);
    length += bytes.length;
  };

  const finish = (rest: Buffer) => {
    if (long === undefined && length === 0 && rest.length <= maxBytes) return onLine(rest);
    hold(rest);
    const [line, longLine] = [held.subarray(0, length), long];
    held = nothing;
    length = 0;
    long = undefined;
    if (longLine === undefined) onLine(line);
    else onLongLine(longLine);
  };

  return (chunk) => {
    let start = 0;
    for (let end = 0; (end = chunk.indexOf(0x0a, start)) !== -1; start = end + 1) {
      finish(chunk.subarray(start, end));
    }
    hold(chunk.subarray(start));
  };
}
