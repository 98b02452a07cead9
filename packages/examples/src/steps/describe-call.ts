/** `add_item(apples)`, of a server's tool or of what an agent calls it. */
export function describeCall(tool: string, input: unknown): string {
  return `${tool.replace(/^.*__/, "")}(${Object.values(input as object).join(", ")})`;
}
