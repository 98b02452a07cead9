import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { expectTypeOf, test } from "vitest";
import type { CreateStatelessHandler, SessionHandlerOptions } from "../index.ts";

const withMore: CreateStatelessHandler = (createServer, options) =>
  createMcpHandler(createServer, { ...options, responseMode: "sse" });

test("createMcpHandler is one, with and without more options", () => {
  expectTypeOf(createMcpHandler).toExtend<CreateStatelessHandler>();
  expectTypeOf(withMore).toExtend<SessionHandlerOptions["stateless"]>();
});

test("a function that serves requests is none", () => {
  expectTypeOf<(request: Request) => Response>().not.toExtend<CreateStatelessHandler>();
});

test("an McpServer of SDK 2 can be returned by createServer", () => {
  expectTypeOf<McpServer>().toExtend<Awaited<ReturnType<SessionHandlerOptions["createServer"]>>>();
});
