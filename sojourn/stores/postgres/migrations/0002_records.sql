-- Small JSON documents beside the sessions, each under a kind and a key.

CREATE TABLE records (
    kind TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    value TEXT NOT NULL,  -- JSON
    principal TEXT COLLATE "C" NOT NULL DEFAULT 'owner',
    session_id TEXT COLLATE "C" REFERENCES sessions(id),  -- goes with it
    revision BIGINT NOT NULL DEFAULT 1,
    created_at DOUBLE PRECISION NOT NULL,
    updated_at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (kind, key)
);
CREATE INDEX records_session ON records(session_id) WHERE session_id IS NOT NULL;
