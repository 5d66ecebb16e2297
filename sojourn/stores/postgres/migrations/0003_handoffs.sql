-- One row per attempt to hand a session to another surface, kept for good.

CREATE TABLE handoffs (
    id TEXT COLLATE "C" PRIMARY KEY,
    session_id TEXT COLLATE "C" NOT NULL REFERENCES sessions(id),
    from_surface TEXT COLLATE "C" NOT NULL,
    platform TEXT COLLATE "C" NOT NULL,
    target TEXT COLLATE "C" NOT NULL DEFAULT '',
    requested_by TEXT COLLATE "C" NOT NULL DEFAULT '',
    state TEXT COLLATE "C" NOT NULL,
    surface TEXT COLLATE "C" NOT NULL DEFAULT '',
    fence BIGINT NOT NULL DEFAULT 0,
    owner TEXT COLLATE "C" NOT NULL DEFAULT '',
    lease_until DOUBLE PRECISION NOT NULL DEFAULT 0,
    deadline DOUBLE PRECISION NOT NULL,
    driver_fence BIGINT NOT NULL,
    thread_id TEXT COLLATE "C" NOT NULL DEFAULT '',
    place TEXT COLLATE "C" NOT NULL DEFAULT '',
    message_id TEXT COLLATE "C" NOT NULL DEFAULT '',
    note TEXT COLLATE "C" NOT NULL DEFAULT '',
    error_code TEXT COLLATE "C" NOT NULL DEFAULT '',
    error TEXT COLLATE "C" NOT NULL DEFAULT '',
    created_at DOUBLE PRECISION NOT NULL,
    claimed_at DOUBLE PRECISION,
    bound_at DOUBLE PRECISION,
    finished_at DOUBLE PRECISION
);
CREATE INDEX handoffs_session ON handoffs(session_id, created_at);
CREATE UNIQUE INDEX handoffs_live ON handoffs(session_id)
    WHERE state IN ('requested', 'claimed', 'thread_ready', 'bound', 'turn_done', 'delivered');
