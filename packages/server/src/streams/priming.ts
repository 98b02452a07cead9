/** The first revision whose clients understand an event without data. */
const firstWithEmptyEvents = "2025-11-25";

/**
 * Whether a client gets an event id before there is a message.
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server
 */
export function canPrime(protocolVersion: string): boolean {
  return protocolVersion >= firstWithEmptyEvents;
}
