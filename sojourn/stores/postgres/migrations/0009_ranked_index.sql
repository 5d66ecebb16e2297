-- The terms include stems and pairs of words. Rows that are there already get theirs afterwards, in steps:
-- `underived_to` in meta is the last row without them (stores/postgres/index.py). Older versions must not write any more.

INSERT INTO meta(key, value)
    SELECT 'underived_to', max(id)::text FROM messages HAVING max(id) IS NOT NULL ON CONFLICT (key) DO NOTHING;
UPDATE meta SET value = '2' WHERE key = 'terms_version';
