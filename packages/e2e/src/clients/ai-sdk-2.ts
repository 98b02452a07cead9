import * as sdk from "@ai-sdk/mcp";
import { aiSdkClient } from "./ai-sdk.ts";

/** `@ai-sdk/mcp` 2. */
export const createAiSdk2 = aiSdkClient(sdk);
