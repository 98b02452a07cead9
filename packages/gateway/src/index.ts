export { createGateway, type Gateway } from "./create-gateway.ts";
export type { GatewayOptions } from "./base/gateway-options.ts";
