import { redirect } from "next/navigation";
import { Chat } from "../../../components/chat";
import { chatParts } from "../../../lib/agent";
import { readChatState } from "../../../lib/chat-state";
import { currentUser } from "../../../lib/user";

export default async function ChatPage({ params }: { params: Promise<{ id: string }> }) {
  const { id } = await params;
  const principal = await currentUser();
  if (principal === undefined) redirect("/");
  const state = await readChatState(id, principal);
  const { modelName } = await chatParts();
  return <Chat key={id} id={id} initialState={state} modelName={modelName} />;
}
