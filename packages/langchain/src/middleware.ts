export { sessionToolsMiddleware } from "./session-tools-middleware.ts";
