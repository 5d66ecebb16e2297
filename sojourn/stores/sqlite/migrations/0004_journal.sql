-- The gateway's journal. What came in: kept before it is acknowledged, each message once.

CREATE TABLE inbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    platform TEXT NOT NULL,
    account TEXT NOT NULL,
    message_id TEXT NOT NULL,
    place TEXT NOT NULL,
    payload TEXT NOT NULL,  -- JSON
    state TEXT NOT NULL DEFAULT 'waiting',
    ahead INTEGER NOT NULL DEFAULT 0,  -- taken up out of turn, beside the one that runs
    attempts INTEGER NOT NULL DEFAULT 0,
    owner TEXT NOT NULL DEFAULT '',
    fence INTEGER NOT NULL DEFAULT 0,
    lease_until REAL NOT NULL DEFAULT 0,
    next_try_at REAL NOT NULL DEFAULT 0,
    session_id TEXT REFERENCES sessions(id),
    turn_id TEXT,
    error TEXT NOT NULL DEFAULT '',
    received_at REAL NOT NULL,
    finished_at REAL
);
CREATE UNIQUE INDEX inbox_message ON inbox(platform, account, message_id);
CREATE UNIQUE INDEX inbox_running ON inbox(place) WHERE state = 'running' AND ahead = 0;  -- one at a time
CREATE INDEX inbox_open ON inbox(place, id) WHERE state IN ('waiting', 'running');
CREATE INDEX inbox_next ON inbox(id) WHERE state = 'waiting';
CREATE INDEX inbox_leases ON inbox(lease_until) WHERE state = 'running';
CREATE INDEX inbox_session ON inbox(session_id) WHERE session_id IS NOT NULL;

-- Files that came along, until they are with their session.
CREATE TABLE inbox_files (
    inbox_id INTEGER NOT NULL REFERENCES inbox(id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (inbox_id, position)
);

-- What goes out: each key once, each place in order.
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    platform TEXT NOT NULL,
    account TEXT NOT NULL,
    place TEXT NOT NULL,
    payload TEXT NOT NULL,  -- JSON
    session_id TEXT REFERENCES sessions(id),
    state TEXT NOT NULL DEFAULT 'pending',
    attempts INTEGER NOT NULL DEFAULT 0,
    possible_duplicate INTEGER NOT NULL DEFAULT 0,
    owner TEXT NOT NULL DEFAULT '',
    fence INTEGER NOT NULL DEFAULT 0,
    lease_until REAL NOT NULL DEFAULT 0,
    next_try_at REAL NOT NULL DEFAULT 0,
    message_id TEXT NOT NULL DEFAULT '',
    error TEXT NOT NULL DEFAULT '',
    created_at REAL NOT NULL,
    sent_at REAL,
    finished_at REAL
);
CREATE UNIQUE INDEX outbox_sending ON outbox(place) WHERE state = 'sending';  -- one at a time
CREATE INDEX outbox_open ON outbox(place, id) WHERE state IN ('pending', 'sending');
CREATE INDEX outbox_next ON outbox(id) WHERE state = 'pending';
CREATE INDEX outbox_leases ON outbox(lease_until) WHERE state = 'sending';
CREATE INDEX outbox_session ON outbox(session_id) WHERE session_id IS NOT NULL;

-- Which place talks to which session.
CREATE TABLE bindings (
    place TEXT PRIMARY KEY NOT NULL,
    session_id TEXT UNIQUE REFERENCES sessions(id),
    previous_session_id TEXT,
    principal TEXT NOT NULL DEFAULT 'owner',
    details TEXT NOT NULL DEFAULT '{}',  -- JSON
    revision INTEGER NOT NULL DEFAULT 1,
    updated_at REAL NOT NULL
) WITHOUT ROWID;

-- Who is at work. These two belong to running processes and do not move with a store.
CREATE TABLE gateways (
    id TEXT PRIMARY KEY NOT NULL,
    host TEXT NOT NULL DEFAULT '',
    pid INTEGER NOT NULL DEFAULT 0,
    health TEXT NOT NULL DEFAULT '{}',  -- JSON
    started_at REAL NOT NULL,
    beat_at REAL NOT NULL,
    lease_until REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE credential_holds (
    credential TEXT PRIMARY KEY NOT NULL,
    owner TEXT NOT NULL,
    fence INTEGER NOT NULL DEFAULT 1,
    lease_until REAL NOT NULL
) WITHOUT ROWID;
