/** Sets an entry of a map. If there would be more than `max` entries, the oldest one is dropped. */
export function setBounded<KEY, VALUE>(
  map: Map<KEY, VALUE>,
  key: KEY,
  value: VALUE,
  max: number,
): void {
  map.delete(key);
  if (map.size >= max) map.delete(map.keys().next().value as KEY);
  map.set(key, value);
}
