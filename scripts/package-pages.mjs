/** Paths in docs/ without their ending, with a folder before those in it. */
const pages = (top, folders = {}) => [
  ...top.split(" ").filter(Boolean),
  ...Object.entries(folders).flatMap(([folder, names]) =>
    names.split(" ").map((name) => `${folder}/${name}`),
  ),
];

/**
 * The pages of docs/ that each published package ships, by its folder: what its reader needs without a network. A
 * page may be in several. `npm run publishing` names a package or a guide that is missing here.
 */
export const packagePages = {
  core: pages("concepts errors", {
    clients: "index",
    guides: "when-a-server-forgets-you servers-without-sessions sealing",
    reference: "events state-format",
  }),
  sessions: pages("concepts errors", {
    guides:
      "durable-sessions carry-the-state connections manage-sessions runs-and-names stdio observability studio",
    clients: "index",
    reference: "events state-format",
  }),
  "ai-sdk": pages("getting-started recipes concepts errors troubleshooting", {
    guides:
      "durable-sessions carry-the-state streaming connections tools questions long-calls news sign-in manage-sessions " +
      "runs-and-names stdio when-a-server-forgets-you servers-without-sessions choosing-a-store sealing " +
      "observability studio other-engines migrating",
    clients: "index",
    deploy: "index aws-lambda cloudflare containers vercel",
    reference: "events",
  }),
  stores: pages("", { guides: "choosing-a-store sealing", reference: "stores" }),
  oauth: pages("errors", { guides: "sign-in questions eve", reference: "events" }),
  server: pages("errors", { guides: "server choosing-a-store", reference: "events stores" }),
  langchain: pages("errors", { guides: "langchain connections questions long-calls sign-in" }),
  "openai-agents": pages("errors", {
    guides: "openai-agents connections questions long-calls sign-in",
  }),
  workflow: pages("errors", {
    guides: "workflow connections questions long-calls sign-in sealing",
  }),
  react: pages("", { guides: "streaming questions sign-in" }),
  testing: pages("", { guides: "testing" }),
  gateway: pages("errors", {
    guides: "gateway choosing-a-store sign-in",
    reference: "cli events stores",
  }),
  cli: pages("", {
    guides: "gateway probe manage-sessions observability studio",
    reference: "cli",
  }),
};
