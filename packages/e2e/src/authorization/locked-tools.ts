import { z } from "zod";
import { journaled, type NotebookTool, notebookTools } from "../fixtures/notebook-tools.ts";

/** Needed for every request, and for the tool `delete_notes` besides. */
export const requiredScope = "notes:read";
export const deletingScope = "notes:delete";
export const allScopes = ["notes:read", "notes:write", "notes:delete"];

/** The notebook, and a tool that the token's scopes may not be enough for. */
export function lockedTools(notes: string[], subject: string): NotebookTool[] {
  const own: NotebookTool[] = [
    {
      name: "delete_notes",
      description: `Deletes all notes. Needs the scope ${deletingScope}.`,
      inputSchema: z.object({ reason: z.string() }),
      run: () => answer(`${notes.splice(0).length} notes deleted`),
    },
    {
      name: "whose",
      description: "Answers with the user of the access token.",
      inputSchema: z.object({}),
      run: () => answer(subject),
    },
  ];
  return [...notebookTools(notes), ...own.map(journaled)];
}

function answer(text: string) {
  return { content: [{ type: "text" as const, text }] };
}
