/** What a tool call returns, in the shapes that make answers large. */
export const toolResults = {
  /** A screenshot: nothing to escape. */
  image: (size: number) => ({
    content: [{ type: "image", mimeType: "image/png", data: fill(base64, size) }],
  }),
  /** A file or a log: an escape every few characters. */
  "escaped text": (size: number) => ({
    content: [{ type: "text", text: fill(sourceCode, size) }],
  }),
  /** A query's rows: many small members. */
  "structured JSON": (size: number) => {
    const rowLength = JSON.stringify(row(0)).length + 1;
    const rows = Array.from({ length: Math.floor(size / rowLength) }, (_, index) => row(index));
    return {
      content: [{ type: "text", text: `${rows.length} rows` }],
      structuredContent: { rows },
    };
  },
  /** A page in another script: up to four bytes a character. */
  "non-ASCII text": (size: number) => ({
    content: [{ type: "text", text: fill(scripts, size) }],
  }),
};

export type ToolResultName = keyof typeof toolResults;

const base64 =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg";
const sourceCode =
  'function greet(name) {\n\tif (name === "") throw new Error("a name is \\"needed\\"");\n\tconsole.log("Hello, " + name);\n}\n\n';
const scripts = "Привет, мир. 今日は世界、良い天気ですね。 Καλημέρα κόσμε! 🌍🚀 مرحبا بالعالم. ";

const row = (index: number) => ({
  id: 100_000 + index,
  name: `row ${100_000 + index}`,
  price: 9.99,
  active: true,
  tags: ["a", "b"],
});

/** `pattern`, repeated until it takes about `size` bytes in a JSON text. */
function fill(pattern: string, size: number): string {
  const patternSize = new TextEncoder().encode(JSON.stringify(pattern)).length - 2;
  return pattern.repeat(Math.floor(size / patternSize));
}
