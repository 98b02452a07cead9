import { checkOptions } from "../base/check-options.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import { notDeclared } from "../connection/mcp-connection.ts";
import type { ConnectionInfo } from "../slots/session-reports.ts";
import type { ConnectionRegistry } from "./connection-registry.ts";
import { restartSchema, statusSchema } from "./option-schemas.ts";
import type { RegistryLifetime } from "./registry-lifetime.ts";

/** How long a server may take to answer, in milliseconds. */
const defaultMs = 5_000;

/** The part of a registry that looks after its connections. */
export function createRegistryManagement(
  connections: readonly LiveConnection[],
  lifetime: RegistryLifetime,
  lookUp: (name: string) => LiveConnection,
): Pick<ConnectionRegistry, "info" | "status" | "restart" | "clearTools"> {
  const allNames = connections.map(({ name }) => name);
  /** Nothing is used by asking about it. */
  const select = (only: string | undefined) => {
    lifetime.throwIfOver(only);
    const selected = connections.filter(({ name }) => only === undefined || name === only);
    if (only !== undefined && selected.length === 0)
      throw notDeclared(only, allNames, "connection");
    return selected;
  };
  return {
    info: async () => select(undefined).map(describe),
    async status(options = {}) {
      const { connection: only, timeoutMs = defaultMs } = checkOptions(statusSchema, options);
      const asking = select(only).map(async (connection) => {
        const check = await connection.manage.check(timeoutMs);
        return { ...describe(connection), ...check };
      });
      return await Promise.all(asking);
    },
    async restart(name, options = {}) {
      const { timeoutMs = defaultMs } = checkOptions(restartSchema, options);
      const connection = lookUp(name);
      return { ...slotOf(connection), ...(await connection.manage.restart(timeoutMs)) };
    },
    clearTools: async (name) => lookUp(name).manage.forgetTools(),
  };
}

function describe(connection: LiveConnection): ConnectionInfo {
  const { session, manage } = connection;
  return { ...slotOf(connection), session, ...manage.inspect() };
}

function slotOf({ name: connection, keptAs }: LiveConnection) {
  return { connection, ...keptAs };
}
