/** A project of a user: what it installs, and the program that is a step. */
export interface Project {
  readonly name: string;
  /** Its folder in `packages/e2e/smoke`. @default its name */
  readonly folder?: string;
  /** Under `packages`. It has tests, in Vitest and in `node:test`, which are run. */
  readonly testsIn?: string;
  /** Packages of ours, without their scope. */
  readonly own: readonly string[];
  /** What it installs beside them: names that a package of ours has too, in its release. */
  readonly others?: readonly string[];
  /** Other releases than those of our packages. */
  readonly releases?: Readonly<Record<string, string>>;
  /** Our entry points that need a peer which it does not have. */
  readonly without?: readonly string[];
  /** @default "module" */
  readonly type?: "commonjs" | "module";
  /** It has a server of its own, which is killed between the steps. */
  readonly hasServer?: boolean;
  /** What its second step says. @default the items of both steps */
  readonly answer?: RegExp;
  /** Deno runs it too. */
  readonly onDeno?: boolean;
  /** It has no entry points: what is tried is the command. */
  readonly isCommand?: boolean;
  /** Our declarations that cannot compile with what it has installed, and why. */
  readonly knownTypeErrors?: { readonly file: RegExp; readonly why: string };
}

/** A project with AI SDK 6 does not use them; `skipLibCheck` keeps its compiler from looking. */
const withAiSdk6 = {
  file: /ai-sdk\/dist\/agent\//,
  why: "createDurableAgent of @durable-mcp/ai-sdk has the types of AI SDK 7",
};
const aiSdk = ["ai", "@ai-sdk/mcp", "@opentelemetry/api"];
const react = ["ai", "@ai-sdk/react", "react", "react-dom", "@types/react", "@types/react-dom"];
const asksAgain = /asks you.*Order bread\?/;

const own: readonly Project[] = [
  { name: "core", own: ["core"], others: ["@ai-sdk/mcp"], onDeno: true },
  { name: "sessions", own: ["sessions", "stores"], others: ["@ai-sdk/mcp", "@opentelemetry/api"] },
  { name: "ai-sdk", own: ["ai-sdk", "stores"], others: aiSdk },
  {
    name: "ai-sdk-6",
    own: ["ai-sdk", "stores"],
    others: aiSdk,
    releases: { ai: "ai-6" },
    knownTypeErrors: withAiSdk6,
  },
  { name: "commonjs", own: ["ai-sdk", "stores"], others: aiSdk, type: "commonjs" },
  { name: "stores", own: ["stores"], others: ["pg", "redis", "@types/pg"] },
  {
    name: "server",
    own: ["server", "stores", "core"],
    others: ["@modelcontextprotocol/sdk", "zod"],
    without: ["@durable-mcp/server/tasks"],
    hasServer: true,
  },
  {
    name: "server-2",
    own: ["server", "stores", "core"],
    others: ["@modelcontextprotocol/server", "@modelcontextprotocol/client", "zod"],
    hasServer: true,
  },
  {
    name: "langchain",
    own: ["langchain", "stores"],
    others: [
      "langchain",
      "@langchain/core",
      "@langchain/langgraph",
      "@langchain/mcp-adapters",
      "@modelcontextprotocol/sdk",
    ],
  },
  {
    name: "openai-agents",
    own: ["openai-agents", "stores"],
    others: ["@openai/agents", "@modelcontextprotocol/client", "zod"],
  },
  { name: "oauth", own: ["oauth", "ai-sdk", "stores"], others: aiSdk },
  { name: "react", own: ["react", "core"], others: react, answer: asksAgain },
  {
    name: "react-ai-sdk-6",
    folder: "react",
    own: ["react", "core"],
    others: react,
    releases: { ai: "ai-6", "@ai-sdk/react": "ai-sdk-react-3" },
    answer: asksAgain,
  },
  {
    name: "workflow",
    own: ["workflow", "ai-sdk", "stores"],
    others: [...aiSdk, "workflow"],
    knownTypeErrors: withAiSdk6,
    answer: /session: true, replaced: false\ncart__add_item/,
  },
  {
    name: "testing",
    testsIn: "examples/src/testing",
    own: ["testing", "oauth", "ai-sdk", "stores"],
    others: [...aiSdk, "vitest"],
  },
  { name: "cli", own: ["cli"], isCommand: true },
];

/** All entry points are imported: that of the stores for DynamoDB imports AWS's client, others are given theirs. */
export const projects: readonly Project[] = own.map((project) =>
  project.own.includes("stores")
    ? { ...project, others: [...(project.others ?? []), "@aws-sdk/client-dynamodb"] }
    : project,
);
