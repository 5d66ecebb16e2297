-- Small JSON documents beside the sessions, each under a kind and a key.

CREATE TABLE records (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,  -- JSON
    principal TEXT NOT NULL DEFAULT 'owner',
    session_id TEXT REFERENCES sessions(id),  -- goes with it
    revision INTEGER NOT NULL DEFAULT 1,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    PRIMARY KEY (kind, key)
) WITHOUT ROWID;
CREATE INDEX records_session ON records(session_id) WHERE session_id IS NOT NULL;
