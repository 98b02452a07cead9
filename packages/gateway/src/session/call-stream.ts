import { utf8 } from "../base/events.ts";

/** The begin of a stream is kept up to this length, in bytes, for a client that comes back. */
const maxKeptBytes = 65_536;

/** The server's last event of a call. Any process resumes the stream after it. */
export interface ServerEvent {
  readonly eventId: string;
  readonly era: number;
}

interface CallStreamOptions {
  /** The first event, whose id brings the client back; `undefined` for a client that does not take it. */
  readonly priming: string | undefined;
  /** The events that begin a stream with an id. */
  readonly beginWith: (id: string) => readonly Uint8Array[];
  /** Called when the client has left before the end. */
  readonly onLeft: () => void;
  /** Called at the end, once. */
  readonly onOver: () => void;
}

/**
 * The answer to one request, on its way to a client that may leave and come back. It is read at the client's pace, and
 * without a client as long as what comes is kept.
 */
export class CallStream {
  readonly #options: CallStreamOptions;
  #client: ReadableStreamDefaultController<Uint8Array> | undefined;
  #source: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #kept: Uint8Array[] | undefined = [];
  #keptBytes = 0;
  #isOver = false;
  #isLeft = false;
  #change = Promise.withResolvers<void>();

  constructor(options: CallStreamOptions) {
    this.#options = options;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether a client reads it now. */
  get hasClient(): boolean {
    return this.#client !== undefined;
  }

  /** Whether the server keeps the rest. */
  get isLeft(): boolean {
    return this.#isLeft;
  }

  /** Waits until there is room, or the client has changed, or the end. */
  async changed(): Promise<void> {
    await this.#change.promise;
  }

  /** The client's stream, for the first time. */
  begin(): ReadableStream<Uint8Array> {
    const { priming, beginWith } = this.#options;
    for (const event of priming === undefined ? [] : beginWith(priming)) this.#push(event);
    return this.#bodyFrom(this.#kept ?? []);
  }

  /** Reads a stream of the server to its end, which ends the client's too. */
  async read(stream: ReadableStream<Uint8Array>): Promise<void> {
    this.#source = stream.getReader();
    const isFull = () =>
      this.#client ? (this.#client.desiredSize ?? 1) <= 0 : this.#kept === undefined;
    while (!this.#isOver) {
      if (isFull()) await this.changed();
      else {
        // The fetch beneath delivers failures as answers. Without one the client comes back.
        const { value } = await this.#source.read().catch(() => ({ value: undefined }));
        if (value === undefined) break;
        this.#push(value);
      }
    }
    this.#end();
  }

  /** Leaves the rest to the server, which keeps it for whoever resumes the stream. */
  leave(): void {
    this.#isLeft = true;
    void this.#source?.cancel().catch(() => undefined);
    this.#end();
  }

  /** What came after the first event so far; `undefined` if that is too long to be kept. */
  textSoFar(): string | undefined {
    const decoder = new TextDecoder();
    const parts = this.#kept?.slice(this.#options.priming === undefined ? 0 : 1);
    return parts?.map((part) => decoder.decode(part, { stream: true })).join("");
  }

  /** The stream after an event of it; `undefined` if it is not kept, or if the server has the rest. */
  resume(after: string): ReadableStream<Uint8Array> | undefined {
    const { priming, beginWith } = this.#options;
    const text = this.#isLeft ? undefined : this.textSoFar();
    const rest = text === undefined || after === priming ? text : textAfter(text, after);
    if (rest === undefined) return undefined;
    // Some clients only come back again to a stream that has begun with an id.
    return this.#bodyFrom([...beginWith(after), utf8(rest)]);
  }

  #push(chunk: Uint8Array): void {
    this.#keptBytes += chunk.length;
    if (this.#keptBytes > maxKeptBytes) this.#kept = undefined;
    this.#kept?.push(chunk);
    this.#client?.enqueue(chunk);
  }

  #wake(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#client?.close();
    this.#client = undefined;
    this.#wake();
    this.#options.onOver();
  }

  /** A client's stream. @param begin what it gets first */
  #bodyFrom(begin: readonly Uint8Array[]): ReadableStream<Uint8Array> {
    let own: ReadableStreamDefaultController<Uint8Array>;
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        own = controller;
        for (const chunk of begin) controller.enqueue(chunk);
        if (this.#isOver) return controller.close();
        // A client that comes back has left its old stream.
        this.#client?.close();
        this.#client = controller;
        this.#wake();
      },
      pull: () => this.#wake(),
      cancel: () => {
        if (this.#client !== own) return;
        this.#client = undefined;
        this.#options.onLeft();
        this.#wake();
      },
    });
  }
}

/** The text of a stream after the event with this id; `undefined` without such an event. */
export function textAfter(text: string, eventId: string): string | undefined {
  const line = `id: ${eventId}`;
  let at = text.indexOf(line);
  while (at !== -1 && !/[\r\n]/.test(text[at + line.length] ?? "")) at = text.indexOf(line, at + 1);
  if (at === -1) return undefined;
  const end = /\r?\n\r?\n/g;
  end.lastIndex = at;
  return end.exec(text) ? text.slice(end.lastIndex) : undefined;
}
