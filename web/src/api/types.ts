export interface Session {
  id: string;
  title: string | null;
  source: string;
  tags: string[];
  pinned: boolean;
  archived: boolean;
  parent_session_id: string | null;
  model: string | null;
  cwd: string | null;
  started_at: string | null;
  last_active: string | null;
  message_count: number;
  tool_call_count: number;
  input_tokens: number;
  output_tokens: number;
  estimated_cost_usd: number | null;
  last_seq: number;
  revision: number;
  driver: string | null;
  handoff_state: string | null;
  preview: string;
}

interface ToolCall {
  id: string;
  name: string;
  arguments: unknown;
}

export interface Message {
  id: string;
  seq: number;
  role: string;
  content: string | null;
  timestamp: string | null;
  active: boolean;
  compacted: boolean;
  parts?: Array<Record<string, unknown>>;
  tool_calls?: ToolCall[];
  tool_call_id?: string;
  tool_name?: string;
  turn_id?: string;
  reasoning?: string;
  extra?: { internal?: boolean } | null;
}

export interface SearchHit {
  session: string;
  message: string | null;
  seq: number;
  role: string;
  timestamp: string | null;
  title: string | null;
  source: string;
  tool_name: string | null;
  snippet: { text: string; marks: Array<[number, number]> };
}

export interface RuntimeInfo {
  name: string;
  label: string;
  ok: boolean;
  detail: string;
  hint: string;
  models: string[];
  default: boolean;
}

export interface StoreStats {
  kind: string;
  place: string;
  sessions: number;
  messages: number;
  events: number;
  bytes: number;
  sessions_by_source: Record<string, number>;
}

export interface FoundHistory {
  source: string;
  home: string;
  sessions: number;
  bytes: number;
  version: string;
  problem: string;
}
