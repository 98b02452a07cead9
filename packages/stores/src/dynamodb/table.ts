import {
  CreateTableCommand,
  DescribeTimeToLiveCommand,
  type DynamoDBClient,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { answered, isDone } from "./answers.ts";

/** Creates the table unless it is there, waits until it can be used, and lets it remove what has expired. */
export async function createDynamoDbTable(
  client: DynamoDBClient,
  table: string,
  abortSignal: AbortSignal,
): Promise<void> {
  const options = { abortSignal };
  const create = client.send(new CreateTableCommand(tableInput(table)), options);
  // It is there, or another process creates it.
  await isDone(create, "ResourceInUseException");
  // The signal ends it before this time, in seconds.
  const wait = { client, abortSignal, minDelay: 1, maxDelay: 2, maxWaitTime: 600 };
  await answered(waitUntilTableExists(wait, { TableName: table }));
  const removes = async () => {
    const command = new DescribeTimeToLiveCommand({ TableName: table });
    const { TimeToLiveDescription: ttl } = await answered(client.send(command, options));
    return ttl?.TimeToLiveStatus === "ENABLED" || ttl?.TimeToLiveStatus === "ENABLING";
  };
  try {
    if (await removes()) return;
    const ttl = { AttributeName: "remove_at", Enabled: true };
    const input = { TableName: table, TimeToLiveSpecification: ttl };
    await answered(client.send(new UpdateTimeToLiveCommand(input), options));
  } catch (error) {
    // DynamoDB refuses all but the first of those that ask at once.
    if (!isUnknown(error) && !(await removes())) throw error;
  }
}

/** Some emulators have no such calls. Expired records are not read there, and stay. */
function isUnknown(error: unknown): boolean {
  const code = String((error as { code?: unknown }).code);
  return /^(UNKNOWN_OPERATION|NOT_IMPLEMENTED|UNSUPPORTED_OPERATION)$/.test(code);
}

const sorted = (attribute: string) => [
  { AttributeName: "store_shard", KeyType: "HASH" as const },
  { AttributeName: attribute, KeyType: "RANGE" as const },
];

function tableInput(table: string) {
  const indexes = ["by_owner", "by_use"];
  return {
    TableName: table,
    BillingMode: "PAY_PER_REQUEST" as const,
    AttributeDefinitions: ["store_shard", "sort_key", ...indexes].map((name) => ({
      AttributeName: name,
      AttributeType: "S" as const,
    })),
    KeySchema: sorted("sort_key"),
    LocalSecondaryIndexes: indexes.map((name) => ({
      IndexName: name,
      KeySchema: sorted(name),
      Projection: { ProjectionType: "KEYS_ONLY" as const },
    })),
  };
}
