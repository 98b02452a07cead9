import { DynamoDBClient, type DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";
import {
  createDynamoDbStore,
  type DynamoDbStore,
  type DynamoDbStoreOptions,
} from "../src/dynamodb.ts";

/** Opens the store on the server at a port. */
export default function openDynamoDb(
  port: number,
  {
    maxAttempts = 3,
    ...options
  }: Partial<DynamoDbStoreOptions> & Pick<DynamoDBClientConfig, "maxAttempts"> = {},
): { readonly store: DynamoDbStore; readonly client: DynamoDBClient } {
  const client = new DynamoDBClient({
    endpoint: `http://127.0.0.1:${port}`,
    region: "local",
    credentials: { accessKeyId: "an-id", secretAccessKey: "a-secret" },
    maxAttempts,
  });
  return { client, store: createDynamoDbStore({ client, table: "sessions", ...options }) };
}
