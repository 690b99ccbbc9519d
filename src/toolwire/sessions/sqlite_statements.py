"""The SQL of the store in a file.

What is small stands before `value` in a row, so that lists do not read documents.
"""

BUSY_SECONDS = 0.7
"""How long to wait for another process that writes: less than callers wait for an answer."""

VERSION = 1

PRAGMAS = (
    "PRAGMA auto_vacuum = INCREMENTAL",  # of a new file, before anything is written to it
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA journal_size_limit = 8388608",
)

TABLES = """
CREATE TABLE IF NOT EXISTS documents (
    kind TEXT NOT NULL, owner TEXT NOT NULL, id TEXT NOT NULL,
    created REAL NOT NULL, updated REAL NOT NULL, expires REAL NOT NULL,
    size INTEGER NOT NULL, value BLOB NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS documents_by_name ON documents (kind, owner, id);
CREATE INDEX IF NOT EXISTS documents_by_expiry ON documents (expires);
CREATE TABLE IF NOT EXISTS locks (
    kind TEXT NOT NULL, owner TEXT NOT NULL, id TEXT NOT NULL,
    token TEXT NOT NULL, until REAL NOT NULL, PRIMARY KEY (kind, owner, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS fence (
    one INTEGER PRIMARY KEY CHECK (one = 1), last INTEGER NOT NULL);
INSERT OR IGNORE INTO fence VALUES (1, 0);
"""

NEXT_FENCE = "UPDATE fence SET last = last + 1"
FENCE = "SELECT last FROM fence"

LOCKED = "SELECT 1 FROM locks WHERE kind = ? AND owner = ? AND id = ? AND until > ?"
LOCK = "INSERT OR REPLACE INTO locks VALUES (?, ?, ?, ?, ?)"
RENEW = """UPDATE locks SET until = ?
    WHERE kind = ? AND owner = ? AND id = ? AND token = ? AND until > ?"""
UNLOCK = "DELETE FROM locks WHERE kind = ? AND owner = ? AND id = ? AND token = ?"
UNLOCK_HELD = f"{UNLOCK} AND until > ?"
DELETE_OLD_LOCKS = """DELETE FROM locks WHERE (kind, owner, id) IN (
    SELECT kind, owner, id FROM locks WHERE until <= ? LIMIT ?)"""

VALUE = "SELECT value FROM documents WHERE kind = ? AND owner = ? AND id = ?"
LIVING_VALUE = """SELECT value FROM documents
    WHERE kind = :kind AND owner = :owner AND id = :id AND (expires > :now OR EXISTS (
        SELECT 1 FROM locks WHERE kind = :kind AND owner = :owner AND id = :id AND until > :now))"""
WRITE = """INSERT INTO documents (kind, owner, id, created, updated, expires, size, value)
    VALUES (:kind, :owner, :id, :now, :now, :expires, :size, :value)
    ON CONFLICT (kind, owner, id) DO UPDATE
    SET updated = :now, expires = :expires, size = :size, value = :value"""
DELETE = "DELETE FROM documents WHERE kind = ? AND owner = ? AND id = ?"
DELETE_EXPIRED = f"{DELETE} AND expires <= ?"

LIST = """SELECT id, created, updated, size FROM documents
    WHERE kind = ? AND owner = ? AND id > ? AND expires > ? ORDER BY id LIMIT ?"""
# Counts in the indexes alone. What has expired is removed soon, so there is little of it.
COUNT = """SELECT
    (SELECT count(*) FROM documents INDEXED BY documents_by_name
        WHERE kind = :kind AND owner = :owner)
    - (SELECT count(*) FROM documents INDEXED BY documents_by_expiry
        WHERE expires <= :now AND kind = :kind AND owner = :owner)"""

TO_REMOVE = """SELECT rowid, size FROM documents AS d WHERE expires <= :now AND NOT EXISTS (
        SELECT 1 FROM locks AS l
        WHERE l.kind = d.kind AND l.owner = d.owner AND l.id = d.id AND l.until > :now)
    ORDER BY expires LIMIT :limit"""
REMOVE = "DELETE FROM documents WHERE rowid = ?"

# The sizes of the file and of what is free in it, in pages.
FREE = "SELECT freelist_count, page_count FROM pragma_freelist_count, pragma_page_count"
SHRINK = "PRAGMA incremental_vacuum(1)"
CHECKPOINT = "PRAGMA wal_checkpoint"
