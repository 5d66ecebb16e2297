-- The index has stems and pairs of words. Rows that are indexed already get theirs afterwards, in steps:
-- `underived_to` in meta is the last row without them (stores/sqlite/index.py). Older versions must not write any more.

INSERT INTO meta(key, value)
    SELECT 'underived_to', substr(value, 3) FROM meta WHERE key = 'indexed_to' AND value LIKE '1:%';
UPDATE meta SET value = '2:' || substr(value, 3) WHERE key = 'indexed_to' AND value LIKE '1:%';
