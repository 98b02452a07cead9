import { z } from "zod/v3";
import { notebookToolClass } from "../notebook-tool.js";

export default notebookToolClass("slow_echo", {
  text: { type: z.string(), description: "The text." },
  delayMs: { type: z.number(), description: "The delay." },
});
