import { redirect } from "next/navigation";
import { Chat } from "../../../components/chat";
import { chatParts } from "../../../lib/agent";
import { currentUser } from "../../../lib/user";

export default async function ChatPage({ params }: { params: Promise<{ id: string }> }) {
  const { id } = await params;
  const principal = await currentUser();
  if (principal === undefined) redirect("/");
  const { chat, modelName } = await chatParts();
  const state = await chat.read(id, { principal });
  return <Chat key={id} id={id} initialState={state} modelName={modelName} />;
}
