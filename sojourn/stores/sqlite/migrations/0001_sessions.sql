-- Sessions and messages keep the names and meanings of Hermes' columns where the meaning is the
-- same, so that tools which read a Hermes state.db can read this one. Ours follow after them.

CREATE TABLE sessions (
    id TEXT PRIMARY KEY NOT NULL,
    source TEXT NOT NULL,
    user_id TEXT, session_key TEXT, chat_id TEXT, chat_type TEXT, thread_id TEXT, display_name TEXT,
    origin_json TEXT,
    expiry_finalized INTEGER DEFAULT 0,
    model TEXT, model_config TEXT,
    parent_session_id TEXT,
    started_at REAL NOT NULL, ended_at REAL, end_reason TEXT,
    message_count INTEGER DEFAULT 0, tool_call_count INTEGER DEFAULT 0,
    input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0,
    cache_read_tokens INTEGER DEFAULT 0, cache_write_tokens INTEGER DEFAULT 0, reasoning_tokens INTEGER DEFAULT 0,
    cwd TEXT, git_branch TEXT, git_repo_root TEXT,
    billing_provider TEXT, billing_base_url TEXT, billing_mode TEXT,
    estimated_cost_usd REAL, actual_cost_usd REAL, cost_status TEXT, cost_source TEXT, pricing_version TEXT,
    title TEXT,
    api_call_count INTEGER DEFAULT 0,
    handoff_state TEXT, handoff_platform TEXT, handoff_error TEXT,
    compression_failure_cooldown_until REAL, compression_failure_error TEXT,
    compression_fallback_streak INTEGER NOT NULL DEFAULT 0,
    profile_name TEXT,
    rewind_count INTEGER NOT NULL DEFAULT 0,
    archived INTEGER NOT NULL DEFAULT 0,
    -- ours
    principal TEXT NOT NULL DEFAULT 'owner',
    pinned INTEGER NOT NULL DEFAULT 0,
    tags TEXT NOT NULL DEFAULT '',
    title_terms TEXT,
    preview TEXT NOT NULL DEFAULT '',
    last_active REAL NOT NULL,
    last_seq INTEGER NOT NULL DEFAULT 0,
    revision INTEGER NOT NULL DEFAULT 1,
    driver TEXT, driver_fence INTEGER NOT NULL DEFAULT 0,
    lease_holder TEXT, lease_surface TEXT, lease_fence INTEGER NOT NULL DEFAULT 0,
    lease_since REAL, lease_until REAL,
    source_home TEXT, source_id TEXT,
    system_prompt_hash TEXT,
    extra TEXT,
    system_prompt TEXT  -- always empty here: prompts are kept once, in system_prompts
);
CREATE INDEX sessions_recent ON sessions(principal, archived, last_active DESC, id DESC);
CREATE INDEX sessions_started ON sessions(started_at DESC);
CREATE INDEX sessions_parent ON sessions(parent_session_id) WHERE parent_session_id IS NOT NULL;
CREATE UNIQUE INDEX sessions_title ON sessions(principal, title) WHERE title IS NOT NULL;
CREATE INDEX sessions_title_terms ON sessions(principal, title_terms, id) WHERE title_terms IS NOT NULL;
CREATE INDEX sessions_handoff ON sessions(handoff_state, started_at) WHERE handoff_state IS NOT NULL;

CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions(id),
    role TEXT NOT NULL,
    content TEXT,
    tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, effect_disposition TEXT,
    timestamp REAL NOT NULL,
    token_count INTEGER, finish_reason TEXT,
    reasoning TEXT, reasoning_content TEXT, reasoning_details TEXT,
    codex_reasoning_items TEXT, codex_message_items TEXT,
    platform_message_id TEXT,
    observed INTEGER NOT NULL DEFAULT 0,
    active INTEGER NOT NULL DEFAULT 1,
    compacted INTEGER NOT NULL DEFAULT 0,
    api_content TEXT,
    -- ours
    seq INTEGER NOT NULL,
    structured INTEGER NOT NULL DEFAULT 0,  -- content is JSON text
    turn_id TEXT,
    native_id TEXT,
    extra TEXT
);
CREATE UNIQUE INDEX messages_seq ON messages(session_id, seq);

-- The show: what a turn looked like while it ran. Shares its numbers with messages.
CREATE TABLE events (
    session_id TEXT NOT NULL REFERENCES sessions(id),
    seq INTEGER NOT NULL,
    turn_id TEXT,
    name TEXT NOT NULL,
    data TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (session_id, seq)
) WITHOUT ROWID;

-- One row per session and kind, moved to the end each time: the feed never outgrows the sessions.
CREATE TABLE changes (
    session_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    n INTEGER NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (session_id, kind)
) WITHOUT ROWID;
CREATE INDEX changes_n ON changes(n);

CREATE TABLE controls (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    payload TEXT,
    sender TEXT NOT NULL DEFAULT '',
    at REAL NOT NULL,
    taken_at REAL
);
CREATE INDEX controls_waiting ON controls(session_id, id) WHERE taken_at IS NULL;

CREATE TABLE system_prompts (hash TEXT PRIMARY KEY NOT NULL, prompt TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE session_model_usage (
    session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    model TEXT NOT NULL,
    billing_provider TEXT NOT NULL DEFAULT '', billing_base_url TEXT NOT NULL DEFAULT '',
    billing_mode TEXT NOT NULL DEFAULT '', task TEXT NOT NULL DEFAULT '',
    api_call_count INTEGER NOT NULL DEFAULT 0,
    input_tokens INTEGER NOT NULL DEFAULT 0, output_tokens INTEGER NOT NULL DEFAULT 0,
    cache_read_tokens INTEGER NOT NULL DEFAULT 0, cache_write_tokens INTEGER NOT NULL DEFAULT 0,
    reasoning_tokens INTEGER NOT NULL DEFAULT 0,
    estimated_cost_usd REAL NOT NULL DEFAULT 0, actual_cost_usd REAL NOT NULL DEFAULT 0,
    cost_status TEXT, cost_source TEXT, first_seen REAL, last_seen REAL,
    PRIMARY KEY (session_id, model, billing_provider, billing_base_url, billing_mode, task)
) WITHOUT ROWID;

-- Where imported sessions came from, and in which state they were last seen.
CREATE TABLE imports (
    source TEXT NOT NULL,
    source_home TEXT NOT NULL,
    source_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (source, source_home, source_id)
) WITHOUT ROWID;
CREATE INDEX imports_session ON imports(session_id);

-- What an imported history held besides messages, verbatim.
CREATE TABLE source_records (
    session_id TEXT NOT NULL REFERENCES sessions(id),
    position INTEGER NOT NULL,
    kind TEXT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (session_id, position)
) WITHOUT ROWID;

CREATE TABLE blobs (
    hash TEXT PRIMARY KEY NOT NULL,
    media_type TEXT NOT NULL,
    data BLOB NOT NULL,
    at REAL NOT NULL
);
CREATE TABLE blob_uses (
    session_id TEXT NOT NULL REFERENCES sessions(id),
    hash TEXT NOT NULL REFERENCES blobs(hash),
    name TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (session_id, hash, name)
) WITHOUT ROWID;

-- Forgotten for good: SHA-256 of what must not come back, never the thing itself.
CREATE TABLE tombstones (hash TEXT PRIMARY KEY NOT NULL, at REAL NOT NULL) WITHOUT ROWID;

CREATE TABLE meta (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) WITHOUT ROWID;

-- The search index: a set of terms per message, nothing else. It is filled behind the writers;
-- `indexed_to` in meta says how far.
CREATE VIRTUAL TABLE search_index USING fts5(terms, content='', detail=none, columnsize=0, tokenize='ascii');
INSERT INTO search_index(search_index, rank) VALUES ('automerge', 8);
INSERT INTO search_index(search_index, rank) VALUES ('crisismerge', 64);
