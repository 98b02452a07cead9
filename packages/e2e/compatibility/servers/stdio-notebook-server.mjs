/** The notebook over stdio, for bridges that start a process per session. */
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { createSdkV1Notebook } from "../../src/fixtures/sdk-v1-notebook.ts";

await createSdkV1Notebook().connect(new StdioServerTransport());
