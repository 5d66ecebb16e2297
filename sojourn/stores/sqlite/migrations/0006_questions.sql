-- Questions that wait for a person. `exact` is the only copy of the text that will run, secrets included; the row is
-- deleted in the transaction that settles the question or ends its turn.

CREATE TABLE questions (
    session_id TEXT NOT NULL REFERENCES sessions(id),
    id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    exact TEXT NOT NULL,
    sha256 TEXT NOT NULL,  -- of the exact text
    asked_at REAL NOT NULL,
    PRIMARY KEY (session_id, id)
) WITHOUT ROWID;

-- Approvals from before were for whole tools, and were given without the exact text. They end here; the person is told.
INSERT INTO records(kind, key, value, created_at, updated_at)
    SELECT 'notice', 'approvals_dropped', '{"count": ' || n || '}', CAST(strftime('%s', 'now') AS REAL), CAST(strftime('%s', 'now') AS REAL)
    FROM (SELECT count(*) AS n FROM records WHERE kind = 'approval') WHERE n > 0;
DELETE FROM records WHERE kind = 'approval';
