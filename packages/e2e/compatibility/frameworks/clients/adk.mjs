import { MCPToolset } from "@google/adk";

export function connect(url, fetch) {
  const type = "StreamableHTTPConnectionParams";
  return new MCPToolset({ type, url, transportOptions: { fetch } });
}
