import { defineAgent } from "eve";
import { scriptedModel } from "./lib/scripted-model.ts";

export default defineAgent({ model: scriptedModel });
