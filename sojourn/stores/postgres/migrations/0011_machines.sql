-- On which machine a session was imported: several may feed one store.

ALTER TABLE sessions ADD COLUMN machine TEXT COLLATE "C";
