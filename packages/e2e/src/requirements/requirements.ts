import { cancellationRequirements } from "./cancellation.ts";
import { dialectRequirements } from "./dialects.ts";
import { handshakeRequirements } from "./handshake.ts";
import { messageRequirements } from "./messages.ts";
import { questionRequirements } from "./questions.ts";
import type { Requirement } from "./requirement.ts";
import { securityRequirements } from "./security.ts";
import { sessionRequirements } from "./sessions.ts";
import { streamRequirements } from "./streams.ts";
import { statelessRequirements } from "./without-sessions.ts";

/**
 * The requirements manifest: what MCP asks of clients on sessions, the version header, streams,
 * fallback and questions to a person, and the tests that cover it. What it asks of servers is listed so that tests can cite
 * it. `docs/reports/requirements.md` is written from it.
 */
export const requirementSections: readonly {
  readonly title: string;
  readonly requirements: readonly Requirement[];
}[] = [
  { title: "Handshake, version and request ids", requirements: handshakeRequirements },
  { title: "Messages and their answers", requirements: messageRequirements },
  { title: "Streams", requirements: streamRequirements },
  { title: "Sessions", requirements: sessionRequirements },
  { title: "Cancellation, time-outs and errors", requirements: cancellationRequirements },
  { title: "Security and older servers", requirements: securityRequirements },
  { title: "2026-07-28, without sessions", requirements: statelessRequirements },
  { title: "2026-07-28, when a server asks a person", requirements: questionRequirements },
  { title: "Seen on the wire", requirements: dialectRequirements },
];

export const requirements: readonly Requirement[] = requirementSections.flatMap(
  (section) => section.requirements,
);
