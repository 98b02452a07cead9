/** What the tools answered, as the model sees it. */
export function toolOutputs(messages: { role: string; content: any }[]): any[] {
  return messages
    .filter(({ role }) => role === "tool")
    .flatMap(({ content }) => content.map((part: any) => part.output))
    .filter((output) => output !== undefined);
}
