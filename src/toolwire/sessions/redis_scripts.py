"""What the store asks of Redis: each script is one round trip, and all or nothing.

The first argument of every script is a nonce that comes back first, so that an answer is never
taken for that of another request. Times are milliseconds of the server's own clock.

A document is a hash: its value `v`, when it was created `c`, until when it lives `x`, and its last
fence `f`. The key itself lives longer while it is locked. Its lock is a string with the token of
the claim. The documents of an owner are spread over shards. Each shard has an index of three keys:
ids in their order, ids by expiry, and what a list says about each.
"""

from hashlib import sha1

_NOW = """
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local function digits(number) return string.format('%.0f', number) end
"""


class Script:
    """A script, and the name that Redis knows it by."""

    def __init__(self, text: str) -> None:
        self.text = _NOW + text
        self.sha = sha1(self.text.encode(), usedforsecurity=False).hexdigest()


# KEYS: document, lock. ARGV: nonce (the token), lease.
CLAIM = Script("""
local lease = tonumber(ARGV[2])
if not redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then return {ARGV[1], 'busy'} end
local found = redis.call('HMGET', KEYS[1], 'v', 'x', 'f')
local fence = clock[1] * 1000000 + clock[2]
if found[3] and tonumber(found[3]) >= fence then fence = tonumber(found[3]) + 1 end
if not found[1] or tonumber(found[2]) <= now then
    redis.call('DEL', KEYS[1])
    return {ARGV[1], 'ok', digits(fence), false}
end
redis.call('HSET', KEYS[1], 'f', digits(fence))
if redis.call('PTTL', KEYS[1]) < lease then redis.call('PEXPIRE', KEYS[1], lease + 1000) end
return {ARGV[1], 'ok', digits(fence), found[1]}
""")

# KEYS: document, lock. ARGV: nonce, token, lease.
RENEW = Script("""
local lease = tonumber(ARGV[3])
if redis.call('GET', KEYS[2]) ~= ARGV[2] then return {ARGV[1], 'lost'} end
redis.call('PEXPIRE', KEYS[2], lease)
local left = redis.call('PTTL', KEYS[1])
if left >= 0 and left < lease then redis.call('PEXPIRE', KEYS[1], lease + 1000) end
return {ARGV[1], 'ok'}
""")

# KEYS: document, lock. ARGV: nonce, token.
RELEASE = Script("""
if redis.call('GET', KEYS[2]) == ARGV[2] then redis.call('DEL', KEYS[2]) end
return {ARGV[1], 'ok'}
""")

# KEYS: document, lock. ARGV: nonce.
GET = Script("""
local found = redis.call('HMGET', KEYS[1], 'v', 'x')
if not found[1] then return {ARGV[1], 'ok', false} end
if tonumber(found[2]) <= now and redis.call('EXISTS', KEYS[2]) == 0 then
    return {ARGV[1], 'ok', false}
end
return {ARGV[1], 'ok', found[1]}
""")

# KEYS: for each document: itself, its lock, and the three of its shard's index.
# ARGV: nonce, ttl; for each document: its id, the token of its claim or nothing, its value.
WRITE = Script("""
local ttl = tonumber(ARGV[2])
for n = 0, #KEYS / 5 - 1 do
    local held, token = redis.call('GET', KEYS[n * 5 + 2]), ARGV[n * 3 + 4]
    if token == '' and held then return {ARGV[1], 'busy'} end
    if token ~= '' and held ~= token then return {ARGV[1], 'lost'} end
end
for n = 0, #KEYS / 5 - 1 do
    local document, lock, ids = KEYS[n * 5 + 1], KEYS[n * 5 + 2], KEYS[n * 5 + 3]
    local expiries, facts = KEYS[n * 5 + 4], KEYS[n * 5 + 5]
    local id, token, value = ARGV[n * 3 + 3], ARGV[n * 3 + 4], ARGV[n * 3 + 5]
    local before = redis.call('HMGET', document, 'c', 'x')
    local created = digits(now)
    if before[1] and (token ~= '' or tonumber(before[2]) > now) then created = before[1] end
    redis.call('HSET', document, 'v', value, 'c', created, 'x', digits(now + ttl))
    redis.call('PEXPIRE', document, ttl)
    if token ~= '' then redis.call('DEL', lock) end
    for _, old in ipairs(redis.call('ZRANGEBYSCORE', expiries, '-inf', now, 'LIMIT', 0, 10)) do
        redis.call('ZREM', expiries, old)
        redis.call('ZREM', ids, old)
        redis.call('HDEL', facts, old)
    end
    redis.call('ZADD', ids, 0, id)
    redis.call('ZADD', expiries, now + ttl, id)
    redis.call('HSET', facts, id, created .. ' ' .. digits(now) .. ' ' .. #value)
    for key = n * 5 + 3, n * 5 + 5 do
        if redis.call('PTTL', KEYS[key]) < ttl then redis.call('PEXPIRE', KEYS[key], ttl) end
    end
end
return {ARGV[1], 'ok'}
""")

# KEYS: document, lock, and the three of its shard's index. ARGV: nonce, id.
DELETE = Script("""
if redis.call('EXISTS', KEYS[2]) == 1 then return {ARGV[1], 'busy'} end
local expires = redis.call('HGET', KEYS[1], 'x')
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[3], ARGV[2])
redis.call('ZREM', KEYS[4], ARGV[2])
redis.call('HDEL', KEYS[5], ARGV[2])
return {ARGV[1], 'ok', expires and tonumber(expires) > now and 1 or 0}
""")

# KEYS: the three of each shard's index. ARGV: nonce, the id to begin behind, limit.
LIST = Script("""
local answer, limit = {ARGV[1], 'ok'}, tonumber(ARGV[3])
for n = 1, #KEYS, 3 do
    local found, after = 0, ARGV[2]
    while found < limit do
        local from = after == '' and '-' or '(' .. after
        local page = redis.call('ZRANGEBYLEX', KEYS[n], from, '+', 'LIMIT', 0, limit)
        for _, id in ipairs(page) do
            local expires = redis.call('ZSCORE', KEYS[n + 1], id)
            local facts = redis.call('HGET', KEYS[n + 2], id)
            if found < limit and expires and tonumber(expires) > now and facts then
                found = found + 1
                table.insert(answer, id)
                table.insert(answer, facts)
            end
        end
        if #page < limit then break end
        after = page[#page]
    end
end
return answer
""")

# KEYS: the three of each shard's index. ARGV: nonce.
COUNT = Script("""
local total = 0
for n = 2, #KEYS, 3 do
    total = total + redis.call('ZCOUNT', KEYS[n], '(' .. digits(now), '+inf')
end
return {ARGV[1], 'ok', total}
""")
