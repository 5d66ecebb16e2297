-- What lists are filtered by, where a branch comes from, and the trash.

ALTER TABLE sessions ADD COLUMN program TEXT NOT NULL DEFAULT 'sojourn';  -- whose history it was imported from
ALTER TABLE sessions ADD COLUMN tools TEXT NOT NULL DEFAULT '';  -- names of called tools, separated by commas
ALTER TABLE sessions ADD COLUMN trashed_at REAL;
ALTER TABLE sessions ADD COLUMN branched_from TEXT;  -- <session>:<seq>
ALTER TABLE sessions ADD COLUMN copied INTEGER NOT NULL DEFAULT 0;  -- messages up to this seq belong to that session
UPDATE sessions SET program = i.source FROM imports i WHERE i.session_id = sessions.id;
UPDATE sessions SET tools = t.names FROM (
    SELECT session_id, group_concat(DISTINCT tool_name) AS names FROM messages
    WHERE tool_name <> '' AND instr(tool_name, ',') = 0 GROUP BY session_id
) t WHERE t.session_id = sessions.id;
DROP INDEX sessions_recent;
CREATE INDEX sessions_recent ON sessions(principal, archived, last_active DESC, id DESC) WHERE trashed_at IS NULL;
CREATE INDEX sessions_trash ON sessions(principal, trashed_at) WHERE trashed_at IS NOT NULL;
CREATE INDEX sessions_branches ON sessions(branched_from) WHERE branched_from IS NOT NULL;
