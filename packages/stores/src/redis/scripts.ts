import { dueStart } from "@durable-mcp/core/store-driver";
import { hexDigest } from "../base/hex-digest.ts";
import { endOfPrefix } from "../base/key-text.ts";

/** A Lua script. Redis runs one at a time, so each is atomic. */
export interface RedisScript {
  readonly text: string;
  /** Known from the first use on. */
  sha1?: string;
}

/**
 * The names of keys, and functions for all scripts. The value has a key of its own, so Redis can let it
 * expire. The small rest of the record stays, because it is needed to clean the indexes.
 */
const shared = `
local keys, owners, idle, expiry, due = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local recordPrefix, valuePrefix, now = ARGV[1], ARGV[2], tonumber(ARGV[3])

-- What is no record of this store, of another program for example, counts as absent.
local function loadMeta(key)
  local found = redis.pcall('HMGET', recordPrefix .. key, 'revision', 'owner', 'lastUsedAt', 'expiresAt')
  if found.err or not (found[1] and found[2] and tonumber(found[3])) then return nil end
  if found[4] ~= '' and not tonumber(found[4]) then return nil end
  return { revision = found[1], owner = found[2], lastUsedAt = found[3], expiresAt = found[4] }
end

-- Of another type than text: not JSON either.
local function loadValue(key)
  local value = redis.pcall('GET', valuePrefix .. key)
  return type(value) == 'table' and '' or value
end

local function isLive(meta)
  return meta and (meta.expiresAt == '' or tonumber(meta.expiresAt) > now)
end

local function load(key)
  local meta = loadMeta(key)
  if not isLive(meta) then return nil end
  meta.value = loadValue(key)
  return meta.value and meta or nil
end

local function ownerMember(owner, key) return #owner .. ':' .. owner .. key end

-- What is due has an order of its own beside that of all.
local function isDue(key) return string.sub(key, 1, ${dueStart.length}) == '${dueStart}' end

local function leaveUse(key, usedAt)
  redis.call('ZREM', idle, usedAt .. key)
  if isDue(key) then redis.call('ZREM', due, usedAt .. key) end
end

local function enterUse(key, usedAt)
  redis.call('ZADD', idle, 0, usedAt .. key)
  if isDue(key) then redis.call('ZADD', due, 0, usedAt .. key) end
end

local function leaveIndexes(key, meta)
  redis.call('ZREM', keys, key)
  redis.call('ZREM', owners, ownerMember(meta.owner, key))
  leaveUse(key, meta.lastUsedAt)
  redis.call('ZREM', expiry, key)
end

local function forget(key)
  local meta = loadMeta(key)
  if meta then leaveIndexes(key, meta) end
  redis.call('DEL', recordPrefix .. key, valuePrefix .. key)
  if not meta then redis.call('ZREM', expiry, key) end
end
`;

/** ARGV: the keys. Returns value and revision of each, or false. */
const get = `
local all = {}
for at = 4, #ARGV do
  local found = load(ARGV[at])
  all[at - 3] = found and { found.value, found.revision } or false
end
return all
`;

/**
 * ARGV: how many expired records to delete at most; then for each write its key, '=' and the expected
 * revision, '' for none or '*' for any, the new revision or '' to delete, value, owner, expiresAt or ''.
 * Returns the number of the first write whose condition does not hold; 0 if all were made.
 */
const write = `
local fields = 6
local metas, lives = {}, {}
for at = 5, #ARGV, fields do
  local key, expected = ARGV[at], ARGV[at + 1]
  local meta = loadMeta(key)
  local isThere = isLive(meta) and redis.call('EXISTS', valuePrefix .. key) == 1
  metas[at], lives[at] = meta, isThere
  if expected ~= '*' and expected ~= (isThere and '=' .. meta.revision or '') then
    return (at - 5) / fields + 1
  end
end

local function store(key, meta, isThere, revision, value, owner, expiresAt)
  -- If there is no memory left, the first write of a script fails, and nothing was done.
  redis.call('SET', valuePrefix .. key, value)
  local lastUsedAt = ARGV[3]
  if isThere and tonumber(meta.lastUsedAt) > now then lastUsedAt = meta.lastUsedAt end
  if not meta then
    redis.call('DEL', recordPrefix .. key)
  else
    if meta.lastUsedAt ~= lastUsedAt then leaveUse(key, meta.lastUsedAt) end
    if meta.owner ~= owner then redis.call('ZREM', owners, ownerMember(meta.owner, key)) end
    if meta.expiresAt ~= '' and expiresAt == '' then redis.call('ZREM', expiry, key) end
  end
  redis.call('HSET', recordPrefix .. key, 'revision', revision, 'owner', owner,
    'lastUsedAt', lastUsedAt, 'expiresAt', expiresAt)
  if not meta then redis.call('ZADD', keys, 0, key) end
  if not meta or meta.owner ~= owner then redis.call('ZADD', owners, 0, ownerMember(owner, key)) end
  if not meta or meta.lastUsedAt ~= lastUsedAt then enterUse(key, lastUsedAt) end
  if expiresAt ~= '' then
    if not meta or meta.expiresAt ~= expiresAt then redis.call('ZADD', expiry, expiresAt, key) end
    redis.call('PEXPIREAT', valuePrefix .. key, expiresAt)
  end
end

local written = {}
for at = 5, #ARGV, fields do
  local key, revision = ARGV[at], ARGV[at + 2]
  written[key] = true
  if revision == '' then
    forget(key)
  else
    store(key, metas[at], lives[at], revision, ARGV[at + 3], ARGV[at + 4], ARGV[at + 5])
  end
end

-- Expired records never pile up, because more are deleted now and then than have come since.
if ARGV[4] ~= '0' then
  for _, expired in ipairs(redis.call('ZRANGEBYSCORE', expiry, '-inf', ARGV[3], 'LIMIT', 0, ARGV[4])) do
    if not written[expired] then forget(expired) end
  end
end
return 0
`;

/** ARGV: key, at. */
const touch = `
local key, at = ARGV[4], ARGV[5]
local found = load(key)
if found and tonumber(found.lastUsedAt) < tonumber(at) then
  redis.call('HSET', recordPrefix .. key, 'lastUsedAt', at)
  leaveUse(key, found.lastUsedAt)
  enterUse(key, at)
end
return 1
`;

/** ARGV: channel. */
const publish = `
redis.call('PUBLISH', ARGV[4], '')
return 1
`;

/**
 * ARGV: the number of the index, min, max, the number of a member's bytes before its key, the number of
 * records, the number of members to look at, prefix, idleSince or ''. Returns '=' and the last member
 * that it looked at, or '' if there are no more; then the records, six fields each.
 */
const list = `
local index, min, max = KEYS[tonumber(ARGV[4])], ARGV[5], ARGV[6]
local skipped, wanted, looks = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local prefix, idleSince = ARGV[10], tonumber(ARGV[11])
local page = { '' }
-- Earlier releases know nothing of this order: what they have written comes in here, and goes below.
local first, last = '[${dueStart}', '(${endOfPrefix(dueStart)}'
if index == due and redis.call('ZCARD', due) < redis.call('ZLEXCOUNT', keys, first, last) then
  for _, key in ipairs(redis.call('ZRANGEBYLEX', keys, first, last)) do
    local meta = loadMeta(key)
    if meta then enterUse(key, meta.lastUsedAt) end
  end
end
while wanted > 0 and looks > 0 do
  local batch = math.min(looks, wanted + 10)
  local members = redis.call('ZRANGEBYLEX', index, min, max, 'LIMIT', 0, batch)
  page[1] = #members == batch and '=' .. members[batch] or ''
  for _, member in ipairs(members) do
    local key = string.sub(member, skipped + 1)
    if string.sub(key, 1, #prefix) == prefix then
      local meta = loadMeta(key)
      if index == due and not (meta and meta.lastUsedAt .. key == member) then
        redis.call('ZREM', due, member)
        meta = nil
      end
      if isLive(meta) and (not idleSince or tonumber(meta.lastUsedAt) <= idleSince) then
        local value = loadValue(key)
        if value then
          for _, field in ipairs({ key, value, meta.revision, meta.owner, meta.lastUsedAt, meta.expiresAt }) do
            page[#page + 1] = field
          end
          wanted = wanted - 1
          if wanted == 0 then
            page[1] = '=' .. member
            break
          end
        end
      end
    end
  end
  if page[1] == '' then break end
  min, looks = '(' .. string.sub(page[1], 2), looks - batch
end
return page
`;

/** The scripts of the Redis store. */
export const redisScripts = {
  get: script(get),
  write: script(write),
  touch: script(touch),
  list: script(list),
  publish: script(publish),
};

function script(body: string): RedisScript {
  return { text: shared + body };
}

/** The name by which Redis knows a script. */
export async function sha1Of(each: RedisScript): Promise<string> {
  return (each.sha1 ??= await hexDigest("SHA-1", each.text));
}
