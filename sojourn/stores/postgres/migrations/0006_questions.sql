-- Questions that wait for a person. `exact` is the only copy of the text that will run, secrets included; the row is
-- deleted in the transaction that settles the question or ends its turn.

CREATE TABLE questions (
    session_id TEXT COLLATE "C" NOT NULL REFERENCES sessions(id),
    id TEXT COLLATE "C" NOT NULL,
    turn_id TEXT COLLATE "C" NOT NULL,
    exact TEXT NOT NULL,
    sha256 TEXT COLLATE "C" NOT NULL,  -- of the exact text
    asked_at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (session_id, id)
);

-- Approvals from before were for whole tools, and were given without the exact text. They end here; the person is told.
INSERT INTO records(kind, key, value, created_at, updated_at)
    SELECT 'notice', 'approvals_dropped', '{"count": ' || n || '}', extract(epoch FROM now()), extract(epoch FROM now())
    FROM (SELECT count(*) AS n FROM records WHERE kind = 'approval') AS dropped WHERE n > 0;
DELETE FROM records WHERE kind = 'approval';
