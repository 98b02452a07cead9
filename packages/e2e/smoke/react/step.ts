import type { WaitingCall } from "@durable-mcp/core/waiting";
import { Question, type QuestionProps, useDurableChat } from "@durable-mcp/react";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";

const [, item = ""] = process.argv.slice(2);
const call: WaitingCall = {
  ...{ id: "1", type: "question", state: "waiting", connection: "shop", round: 1, askedAt: 1 },
  ...{ server: "https://shop.example", method: "tools/call", tool: "order" },
  requests: {
    confirm: {
      method: "elicitation/create",
      params: { message: `Order ${item}?`, requestedSchema: { type: "object", properties: {} } },
    },
  },
};

function Chat({ onAnswer }: Pick<QuestionProps, "onAnswer">) {
  const { blocking } = useDurableChat({
    ...{ id: "chat 1", api: "/api/chat" },
    initialState: { messages: [], waiting: [call] },
  });
  return blocking.map((entry) =>
    entry.type === "sign-in"
      ? null
      : createElement(Question, { key: entry.id, call: entry, onAnswer }),
  );
}

console.log(renderToStaticMarkup(createElement(Chat, { onAnswer: async () => undefined })));
