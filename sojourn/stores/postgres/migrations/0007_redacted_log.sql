-- A media type belongs to the upload, not to the bytes. What was stored before is redacted and folded afterwards, in steps:
-- `redaction` in meta says how far (stores/sql/kept_secrets.py).

ALTER TABLE blob_uses ADD COLUMN media_type TEXT NOT NULL DEFAULT '';
UPDATE blob_uses SET media_type = (SELECT media_type FROM blobs WHERE blobs.hash = blob_uses.hash);
INSERT INTO meta(key, value) SELECT 'redaction', '{"after": "", "found": 0}' WHERE EXISTS (SELECT 1 FROM sessions);
