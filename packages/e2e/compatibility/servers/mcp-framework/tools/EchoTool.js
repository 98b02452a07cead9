import { z } from "zod/v3";
import { notebookToolClass } from "../notebook-tool.js";

export default notebookToolClass("echo", {
  text: { type: z.string(), description: "The text." },
});
