import { defineChannel, GET } from "eve/channels";
import { routeAuth } from "eve/channels/auth";
import { appSession, oauth, userOf } from "../lib/sign-in.ts";

/** The route of `redirectUrl`. */
export default defineChannel({
  routes: [
    GET("/oauth/callback", async (request) => {
      const caller = await routeAuth(request, appSession());
      if (caller instanceof Response) return caller;
      return await oauth().callback(request, { principal: userOf(caller) });
    }),
  ],
});
