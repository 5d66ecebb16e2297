-- How many rows there are, kept by the database itself: counting them would read the whole file.

CREATE TABLE counts (
    name TEXT NOT NULL,  -- a table
    part TEXT NOT NULL,  -- the source of sessions, the role of messages
    n INTEGER NOT NULL,
    PRIMARY KEY (name, part)
) WITHOUT ROWID;
INSERT INTO counts SELECT 'sessions', source, count(*) FROM sessions GROUP BY source;
INSERT INTO counts SELECT 'messages', role, count(*) FROM messages GROUP BY role;
INSERT INTO counts SELECT 'events', '', count(*) FROM events;
INSERT INTO counts SELECT 'records', '', count(*) FROM records;

CREATE TRIGGER sessions_counted AFTER INSERT ON sessions BEGIN
    INSERT INTO counts VALUES ('sessions', new.source, 1) ON CONFLICT (name, part) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER sessions_moved AFTER UPDATE OF source ON sessions WHEN old.source <> new.source BEGIN
    UPDATE counts SET n = n - 1 WHERE name = 'sessions' AND part = old.source;
    INSERT INTO counts VALUES ('sessions', new.source, 1) ON CONFLICT (name, part) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER sessions_removed AFTER DELETE ON sessions BEGIN
    UPDATE counts SET n = n - 1 WHERE name = 'sessions' AND part = old.source;
END;
CREATE TRIGGER messages_counted AFTER INSERT ON messages BEGIN
    INSERT INTO counts VALUES ('messages', new.role, 1) ON CONFLICT (name, part) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER messages_removed AFTER DELETE ON messages BEGIN
    UPDATE counts SET n = n - 1 WHERE name = 'messages' AND part = old.role;
END;
CREATE TRIGGER events_counted AFTER INSERT ON events BEGIN
    UPDATE counts SET n = n + 1 WHERE name = 'events' AND part = '';
END;
CREATE TRIGGER events_removed AFTER DELETE ON events BEGIN
    UPDATE counts SET n = n - 1 WHERE name = 'events' AND part = '';
END;
CREATE TRIGGER records_counted AFTER INSERT ON records BEGIN
    UPDATE counts SET n = n + 1 WHERE name = 'records' AND part = '';
END;
CREATE TRIGGER records_removed AFTER DELETE ON records BEGIN
    UPDATE counts SET n = n - 1 WHERE name = 'records' AND part = '';
END;
