export const alice = { type: "user", issuer: "https://idp.test", id: "alice" } as const;
