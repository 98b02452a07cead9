/** A tool of a server's list. */
interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: { type: "object"; properties: Record<string, object> };
}

const made = new Map<number, ListedTool[]>();

/** `count`, and as many others as it takes, with a schema of 2 KB each, as those of generated servers are. */
export function createTools(count: number): ListedTool[] {
  const known = made.get(count);
  if (known) return known;
  const tools = [
    {
      name: "count",
      description: "Counts.",
      inputSchema: { type: "object" as const, properties: {} },
    },
    ...Array.from({ length: count - 1 }, (_, n) => createTool(n)),
  ];
  made.set(count, tools);
  return tools;
}

function createTool(n: number): ListedTool {
  const properties = Object.fromEntries(
    Array.from({ length: 10 }, (_, field) => [
      `field_${field}`,
      {
        type: "object",
        description: `Which records of table ${n} are read, by their field ${field}: the newest first.`,
        properties: { from: { type: "string" }, to: { type: "string", format: "date-time" } },
      },
    ]),
  );
  return {
    name: `read_table_${n}`,
    description: `Reads the records of table ${n} that match all of the given fields.`,
    inputSchema: { type: "object", properties },
  };
}
