/** What the lab finds. */
export const found = (topic: string) => ({
  content: [{ type: "text" as const, text: `${topic} was first drunk in Yunnan.` }],
});
