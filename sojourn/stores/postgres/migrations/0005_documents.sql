-- What scans of the histories keep, for all servers that share the database: small documents by name, each in one
-- or more parts. A new document replaces the old one and its last good copy; a journal only gets more parts.

CREATE TABLE documents (
    shelf TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    is_copy BIGINT NOT NULL DEFAULT 0,
    part BIGINT GENERATED ALWAYS AS IDENTITY,  -- never used again: the newest part tells whether it has changed
    data BYTEA NOT NULL,
    PRIMARY KEY (shelf, name, is_copy, part)
);
