import { expect, test } from "vitest";
import { createApplication, createClock, errorOf } from "../../test/application.ts";
import { jwtBearer, startHandMadeServer } from "../../test/hand-made-server.ts";

const principal = { type: "app" } as const;
const refused = { status: 401 } as const;

async function start(assertion?: (use: { audience: string }) => string) {
  const server = await startHandMadeServer({ metadata: { grant_types_supported: [jwtBearer] } });
  const clock = createClock();
  const audiences: string[] = [];
  const app = createApplication({
    ...{ url: server.url, now: clock.now },
    clients: [{ issuer: server.issuer, clientId: "nightly-job", scopes: ["notes:read"] }],
    workload: {
      assertion: (use) => {
        audiences.push(use.audience);
        return assertion?.(use) ?? `signed-by-platform-${audiences.length}`;
      },
    },
  });
  return { server, clock, audiences, app };
}

test("a job has tokens by its platform's identity, asked for anew each time", async () => {
  const { server, clock, audiences, app } = await start();
  const tokens = await Promise.all(
    Array.from({ length: 20 }, () => app.next().getToken({ principal, refused })),
  );
  expect(new Set(tokens.map((each) => each?.token)).size).toBe(1);
  clock.offsetMs = 3_600_000;
  expect(await app.getToken({ principal })).toBeDefined();
  expect(audiences).toEqual([server.issuer, server.issuer]);
  expect(server.tokenRequests.map(({ parameters }) => Object.fromEntries(parameters))).toEqual(
    [1, 2].map((n) => ({
      ...{ grant_type: jwtBearer, assertion: `signed-by-platform-${n}` },
      ...{ resource: server.url, scope: "notes:read", client_id: "nightly-job" },
    })),
  );
});

test.each(["invalid_grant", "invalid_scope", "unauthorized_client"])(
  "%s is told, without another try, another way or a sign-in",
  async (word) => {
    const { server, app } = await start();
    server.rules.checkAssertion = async () => word;
    const error = await errorOf(app.getToken({ principal, refused }));
    expect(error.code).toBe("CONNECTION_UNAVAILABLE");
    expect(error.message).toContain(word);
    expect(error.message).not.toContain("signed-by-platform");
    expect(error.data["startUrl"]).toBeUndefined();
    expect(server.tokenRequests).toHaveLength(1);
    expect(await app.oauth.authorizationFor({ ...app.use, principal })).toBeUndefined();
  },
);

test("a platform that gives nothing is named", async () => {
  const { app } = await start(() => {
    throw new Error("no metadata service");
  });
  const error = await errorOf(app.getToken({ principal, refused }));
  expect(error).toMatchObject({ data: { field: "workload.assertion" } });
  expect(error.cause).toMatchObject({ message: "no metadata service" });
});

test("a server at which the job is not registered is named", async () => {
  const { app, server } = await start();
  const error = await errorOf(app.next({ clients: [] }).getToken({ principal, refused }));
  expect(error.message).toContain(`there is no registration at ${server.issuer}`);
  expect(server.tokenRequests).toEqual([]);
});

test("a server whose registration has client credentials is asked with them", async () => {
  const { app, server, audiences } = await start();
  const own = { issuer: server.issuer, clientId: "own", clientSecret: "secret" };
  const other = app.next({ clients: [{ ...own, clientCredentials: true }] });
  expect(await other.getToken({ principal, refused })).toBeDefined();
  expect(server.tokenRequests.map(({ grantType }) => grantType)).toEqual(["client_credentials"]);
  expect(audiences).toEqual([]);
});

test("a user has nothing of it", async () => {
  const { app, audiences } = await start();
  expect(await errorOf(app.getToken({ refused }))).toMatchObject({
    code: "AUTHORIZATION_REQUIRED",
  });
  expect(audiences).toEqual([]);
});
