-- One row per attempt to hand a session to another surface, kept for good.

CREATE TABLE handoffs (
    id TEXT PRIMARY KEY NOT NULL,
    session_id TEXT NOT NULL REFERENCES sessions(id),
    from_surface TEXT NOT NULL,
    platform TEXT NOT NULL,
    target TEXT NOT NULL DEFAULT '',
    requested_by TEXT NOT NULL DEFAULT '',
    state TEXT NOT NULL,
    surface TEXT NOT NULL DEFAULT '',
    fence INTEGER NOT NULL DEFAULT 0,
    owner TEXT NOT NULL DEFAULT '',
    lease_until REAL NOT NULL DEFAULT 0,
    deadline REAL NOT NULL,
    driver_fence INTEGER NOT NULL,
    thread_id TEXT NOT NULL DEFAULT '',
    place TEXT NOT NULL DEFAULT '',
    message_id TEXT NOT NULL DEFAULT '',
    note TEXT NOT NULL DEFAULT '',
    error_code TEXT NOT NULL DEFAULT '',
    error TEXT NOT NULL DEFAULT '',
    created_at REAL NOT NULL,
    claimed_at REAL,
    bound_at REAL,
    finished_at REAL
) WITHOUT ROWID;
CREATE INDEX handoffs_session ON handoffs(session_id, created_at);
CREATE UNIQUE INDEX handoffs_live ON handoffs(session_id)
    WHERE state IN ('requested', 'claimed', 'thread_ready', 'bound', 'turn_done', 'delivered');
