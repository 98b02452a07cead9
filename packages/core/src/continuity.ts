import { createResumption, resumeStream } from "./answer/resume-stream.ts";
import { followNamed } from "./exchange/other-session.ts";
import { openNamed } from "./handshake/named-session.ts";
import type { SessionFeatures } from "./session/session-context.ts";
import { observeStandingRequests, repeatStandingRequests } from "./session/standing-requests.ts";
import { relistTools, tellChanges } from "./tools/relist-tools.ts";

/**
 * Goes on where a lost session was. After a recovery it subscribes to the client's resources again, sets its
 * log level again and lists the tools again. The event `tools-changed` then names the tools in which a new
 * list differs. Where a server carries requests out in another session instead of refusing an id that it
 * does not know, it goes on in that session. And an answer whose stream broke is resumed, where the server
 * gave event ids.
 */
export const continuity: SessionFeatures["continuity"] = {
  observe: observeStandingRequests,
  compare: (context, before, tools) => tellChanges(context, "new-list", before, tools),
  follow: followNamed,
  openNamed,
  resume: createResumption,
  resumeStream,
  restore: (context, session, standing, lost, request) =>
    Promise.all([
      repeatStandingRequests(context, session, standing, request),
      lost && relistTools(context, lost, request),
    ]),
};
