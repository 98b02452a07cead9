import type { Family } from "./fault.ts";
import { balancerFamily } from "./balancer-faults.ts";
import { clockFamily } from "./clock-faults.ts";
import { frozenFamily, starvedFamily } from "./frozen-faults.ts";
import { gatewayFamily } from "./gateway-faults.ts";
import { serverFamily } from "./server-faults.ts";
import { storeFamily } from "./store-faults.ts";

export const families: readonly Family[] = [
  frozenFamily,
  starvedFamily,
  gatewayFamily,
  storeFamily,
  serverFamily,
  balancerFamily,
  clockFamily,
];
