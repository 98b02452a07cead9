import * as sdk from "ai-sdk-mcp-1";
import { aiSdkClient } from "./ai-sdk.ts";

/** `@ai-sdk/mcp` 1. */
export const createAiSdk1 = aiSdkClient(sdk as never);
