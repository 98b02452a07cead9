export {
  encryptStore,
  encryptValues,
  type EncryptStoreOptions,
  type UnreadableValueReason,
} from "./encrypted-store.ts";
export {
  sealState,
  type SealStateOptions,
  type SealStateResult,
  unsealState,
  type UnsealStateReason,
  type UnsealStateResult,
} from "./sealed-state.ts";
export type { SealingKey, SealingKeys } from "./sealed-text.ts";
