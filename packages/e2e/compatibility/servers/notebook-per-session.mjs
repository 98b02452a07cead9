import { notebookTools } from "../../src/fixtures/notebook-tools.ts";

/** For servers that define their tools once: finds the notebook by the session's id. */
export function createNotebookPerSession() {
  const notebooks = new Map();
  return (sessionId, name, args, requestId) => {
    if (!notebooks.has(sessionId)) notebooks.set(sessionId, notebookTools([]));
    return notebooks
      .get(sessionId)
      .find((tool) => tool.name === name)
      .run(args, requestId);
  };
}
