/** What the user says in a step, and what the scripted model makes of it. */
export interface Turn {
  prompt: string;
  /** The tools to call, one after the other. */
  calls: ToolCall[];
  /** Then these, all at once. @default none */
  together?: ToolCall[];
  /** The agent's answer, given what the MCP server said to each call. */
  answer: (results: string[]) => string;
}

export interface ToolCall {
  /** The server's name of the tool. */
  tool: string;
  input: object;
}
