// Written by `python -m scripts.api_types` from the OpenAPI document. A test keeps it up to date.

/** A turn that runs, or a request that waits for its turn. */
export interface ActiveTurn {
  turn_id: string;
  state: "running" | "queued";
  message: string;
  files: Array<string>;
  by: string;
  at: string | null;
}

/** The running turn first, then those that wait, in their order. */
export interface ActiveTurns {
  turns: Array<ActiveTurn>;
}

/** An answer and what it stands on; `found` is false if the history has none. */
export interface AnswerSchema {
  found: boolean;
  text: string;
  quotes: Array<QuoteSchema>;
  written_by: string;
}

/** What a person chose when a turn asked (`progress`, stage `approval`). */
export interface ApprovalBody {
  question: string;
  choice: string;
  why: string;
  covers?: "exact" | "tool" | null;
}

/** The turn asks a person, or the person has answered. `detail` is redacted; `sha256` is of the exact text. */
export interface ApprovalDetail {
  status?: "asked" | "answered";
  question?: string;
  text?: string;
  tool?: string;
  detail?: unknown;
  sha256?: string;
  choices?: Array<string>;
  dangerous?: boolean;
  scope?: "sandbox" | "network" | "outside";
  seconds?: number;
  choice?: string;
  by?: string;
  why?: string;
}

/** All of them, newest first. */
export interface ApprovalPage {
  approvals: Array<ApprovalSchema>;
}

/** What the owner allowed for longer than once. */
export interface ApprovalSchema {
  id: string;
  choice: "session" | "always";
  tool: string;
  scope: "sandbox" | "network" | "outside";
  covers: "exact" | "tool";
  text: string;
  by: string;
  session_id: string | null;
  given_at: string;
}

/** A file that goes with what is said: one that was uploaded to this session (`hash`), or its bytes (`data`). */
export interface AttachmentBody {
  hash?: string | null;
  data?: string | null;
  media_type: string;
  name: string;
}

/** The attachments of a session: files in the order of their messages, then observations by time. */
export interface AttachmentList {
  attachments: Array<FileEntry | ObservationEntry>;
}

/** A file as it is kept. */
export interface AttachmentSchema {
  hash: string;
  media_type: string;
  name: string;
  size: number;
  holds_secrets: boolean;
}

/** Where a branch begins. */
export interface BranchPoint {
  at: number;
}

/** A browser that is signed in. */
export interface BrowserSchema {
  id: string;
  browser: string;
  address: string;
  since: string | null;
  last_seen: string | null;
  until: string | null;
  current: boolean;
}

/** Something to say, in a session that is there or in a new one. */
export interface ChatBody {
  message: string;
  runtime: string;
  model: string;
  template: string;
  attachments: Array<AttachmentBody>;
  drop: Array<string>;
  cwd: string;
  when_busy: "refuse" | "wait";
  internal: boolean;
  attended: boolean;
  allow: Array<string>;
  session_id?: string | null;
}

/** A command as a menu shows it. */
export interface ChatCommandShape {
  name: string;
  arguments: string;
  help: string;
}

/** What a command answered, and what it changes for the page that asked. */
export interface CommandAnswer {
  lines: Array<string>;
  rows: Array<Array<string>>;
  change: string;
  session: string | null;
  choices: Record<string, string>;
  handoff: string | null;
}

/** What a person typed. */
export interface CommandLine {
  line: string;
}

/** Older messages are being summarised; `from` and `to` are the numbers of the first and the last one. */
export interface CompactionDetail {
  from?: number;
  to?: number;
  status?: "started" | "completed" | "kept";
  messages?: number;
  tokens?: number;
  left?: number;
  summary?: number;
}

/** What was deleted for good. */
export interface EmptiedTrash {
  deleted: number;
}

/** Values by facet (program, source, project, model, tool, tag, month), most sessions first. */
export interface FacetPage {
  total: number;
  facets: Record<string, Array<FacetValue>>;
}

/** A value to filter by, and how many sessions have it. */
export interface FacetValue {
  value: string;
  count: number;
}

/** A file of a message. */
export interface FileEntry {
  hash: string;
  media_type: string;
  name: string;
  size: number;
  holds_secrets: boolean;
  type: "file";
  message_id: string;
}

/** How far forgetting goes. */
export interface ForgetOptions {
  purge_backups: boolean;
}

/** Something that a program which an agent starts cannot do here. */
export interface GuaranteeSchema {
  what: string;
  by: string;
}

/** Another surface took over. */
export interface HandoffDetail {
  from?: string;
  to?: string;
  by?: string;
}

/** Health with what only the owner need know. */
export interface HealthDetail {
  state: string;
  store: string;
  readable: boolean;
  code: string;
  error: string;
  hint: string;
  version: string;
  home: string;
  pid: number;
  plugins_failed: Array<string>;
}

/** How the store is, with the real error and the next step. */
export interface HealthSchema {
  state: string;
  store: string;
  readable: boolean;
  code: string;
  error: string;
  hint: string;
  version: string;
}

/** A history of another program on this machine. With a problem it is not empty, it is unreadable. */
export interface HistorySchema {
  source: string;
  home: string;
  sessions: number;
  bytes: number;
  version: string;
  problem: string;
}

/** A page of what was found, in the `order` asked for. */
export interface HitPage {
  hits: Array<HitSchema>;
  next?: number | null;
}

/** One message that answers, or a title (then `message` is null and `role` is `title`). */
export interface HitSchema {
  session: string;
  message: string | null;
  seq: number;
  score: number;
  role: string;
  timestamp: string | null;
  title: string | null;
  source: string;
  tool_name: string | null;
  snippet: SnippetSchema;
}

/** A session in a list, with what happens in it now. */
export interface ListedSession {
  id: string;
  title?: string | null;
  source: string;
  tags: Array<string>;
  pinned: boolean;
  archived: boolean;
  parent_session_id?: string | null;
  model?: string | null;
  cwd?: string | null;
  started_at: string | null;
  last_active: string | null;
  ended_at?: string | null;
  end_reason?: string | null;
  message_count: number;
  tool_call_count: number;
  input_tokens: number;
  output_tokens: number;
  estimated_cost_usd?: number | null;
  last_seq: number;
  revision: number;
  driver?: string | null;
  handoff_state?: string | null;
  handoff_platform?: string | null;
  handoff_error?: string | null;
  preview: string;
  program: string;
  machine?: string | null;
  trashed_at?: string | null;
  branched_from?: string | null;
  copied: number;
  running: boolean;
  waiting: boolean;
}

/** A block of context that the runtime receives. */
export interface MemoryDetail {
  kind?: string;
  title?: string;
  origin?: string;
  reason?: string;
  tokens?: number;
}

/** A page of a transcript. */
export interface MessagePage {
  messages: Array<MessageSchema>;
  next?: number | null;
  previous?: number | null;
}

/** One row of a transcript. (active, compacted): (true, false) live; (false, true) summarised; else undone. What a message does not have is left out, but for what every message has. */
export interface MessageSchema {
  id: string;
  session: string;
  seq: number;
  role: string;
  content: string | null;
  timestamp: string | null;
  active: boolean;
  compacted: boolean;
  parts?: Array<unknown> | null;
  tool_calls?: Array<ToolCallSchema> | null;
  tool_call_id?: string | null;
  tool_name?: string | null;
  turn_id?: string | null;
  token_count?: number | null;
  finish_reason?: string | null;
  reasoning?: string | null;
  reasoning_content?: string | null;
  reasoning_details?: unknown;
  codex_reasoning_items?: unknown;
  codex_message_items?: unknown;
  platform_message_id?: string | null;
  effect_disposition?: string | null;
  api_content?: string | null;
  observed: boolean;
  native_id?: string | null;
  extra?: unknown;
}

/** A session to begin. */
export interface NewSession {
  title?: string | null;
  source?: string | null;
  runtime: string;
  parent?: string | null;
  model?: string | null;
  cwd?: string | null;
}

/** Sentences for the owner. */
export interface Notices {
  notices: Array<string>;
}

/** What a runtime recorded about its work in a turn: tools, approvals, times. */
export interface ObservationEntry {
  type: "observation";
  runtime: string;
  turn: string;
  kind: string;
  data: Record<string, unknown>;
}

/** A link that opens the dashboard once. */
export interface OneTimeLink {
  path: string;
}

/** What a plugin offers, and why it does not if it failed to load. */
export interface PluginSchema {
  name: string;
  summary: string;
  commands: Array<string>;
  routes: Array<string>;
  sources: number;
  store: boolean;
  address?: string | null;
  problem: string;
}

/** The context of a turn is complete, one source failed, or the runtime is starting. */
export interface PrepareDetail {
  blocks?: Array<MemoryDetail>;
  tokens?: number;
  left_out?: Array<string>;
  seconds?: number;
  source?: string;
  problem?: string;
  runtime?: string;
  url?: string;
  agent?: string;
}

/** HMAC-SHA256 of the client's nonce and of the address it reached, under the token. */
export interface Proof {
  proof: string;
}

/** A question to everything that was said. */
export interface QuestionBody {
  question: string;
}

/** A question that waits, with exactly the text that will run. It is gone once the question is settled. */
export interface QuestionText {
  question: string;
  turn_id: string;
  text: string;
  sha256: string;
  asked_at: string;
}

/** The turn waits for its model or agent, or another request waits for this turn (`queued`). */
export interface QueuedDetail {
  runtime?: string;
  because?: string;
  reason?: string;
  attempt?: number;
  of?: number;
  seconds?: number;
  queued?: string;
  by?: string;
}

/** A part of a message, word for word. */
export interface QuoteSchema {
  session: string;
  seq: number;
  role: string;
  title: string;
  day: string;
  score: number;
  text: string;
}

/** What was taken away. */
export interface RemovalSchema {
  session: string;
  rows: Record<string, number>;
  files: Array<string>;
  backups: Array<string>;
  left: Array<string>;
}

/** How many were revoked. */
export interface Revoked {
  revoked: number;
}

/** The runtime is at work, or a person steered it; `heard` is false when the runtime never took the text. */
export interface RunningDetail {
  runtime?: string;
  model?: string;
  run_id?: string;
  version?: string;
  status?: string;
  line?: string;
  steer?: string;
  by?: string;
  heard?: boolean;
}

/** Which turn runs. */
export interface RunningTurn {
  turn_id: string | null;
}

/** What answers: a model, an agent, or the rules that need neither. */
export interface RuntimeSchema {
  name: string;
  label: string;
  ok: boolean;
  detail: string;
  hint: string;
  models: Array<string>;
  default: boolean;
  offered: boolean;
  steers: boolean;
}

/** What this machine can enforce for programs that an agent starts. */
export interface SandboxSchema {
  mechanism: string;
  complete: boolean;
  missing: Array<string>;
  guarantees: Array<GuaranteeSchema>;
}

/** The server that answers. */
export interface ServerStatus {
  address: string;
  pid: number;
  version: string;
  started_at: string;
  until_idle: boolean;
  turns: number;
}

/** What to change; what is left out stays. */
export interface SessionChanges {
  title?: string | null;
  tags: Array<string>;
  pinned: boolean;
  archived: boolean;
  trashed: boolean;
  model?: string | null;
  cwd?: string | null;
  revision?: number | null;
}

/** A session with everything else that is known about it. */
export interface SessionDetail {
  id: string;
  title?: string | null;
  source: string;
  tags: Array<string>;
  pinned: boolean;
  archived: boolean;
  parent_session_id?: string | null;
  model?: string | null;
  cwd?: string | null;
  started_at: string | null;
  last_active: string | null;
  ended_at?: string | null;
  end_reason?: string | null;
  message_count: number;
  tool_call_count: number;
  input_tokens: number;
  output_tokens: number;
  estimated_cost_usd?: number | null;
  last_seq: number;
  revision: number;
  driver?: string | null;
  handoff_state?: string | null;
  handoff_platform?: string | null;
  handoff_error?: string | null;
  preview: string;
  program: string;
  machine?: string | null;
  trashed_at?: string | null;
  branched_from?: string | null;
  copied: number;
  details: Record<string, unknown>;
}

/** A page of a list. */
export interface SessionPage {
  sessions: Array<ListedSession>;
  next?: string | null;
  total?: number | null;
}

/** The part of a text that answers. Marks are (start, end) in characters of it. */
export interface SnippetSchema {
  text: string;
  marks: Array<[number, number]>;
}

/** The store in figures. */
export interface StatsSchema {
  kind: string;
  place: string;
  schema: number;
  sessions: number;
  messages: number;
  events: number;
  not_indexed: number;
  bytes: number;
  bytes_by: Record<string, number>;
  sessions_by_source: Record<string, number>;
  messages_by_role: Record<string, number>;
  records: number;
}

/** Something to tell a running turn. */
export interface SteerBody {
  text: string;
}

/** How to stop. */
export interface StopBody {
  now: boolean;
  restart: boolean;
}

/** Whether there was something to stop. */
export interface StopResult {
  stopped: boolean;
}

/** The plan and the state of its tasks. */
export interface TaskDetail {
  tasks?: Array<TaskEntry>;
  ready?: Array<string>;
  done?: number;
  of?: number;
  parallel?: boolean;
  because?: string;
}

/** One task of a plan. */
export interface TaskEntry {
  id?: string;
  title?: string;
  needs?: Array<string>;
  state?: string;
  why?: string;
}

/** A template that the runtime receives. */
export interface TemplateDetail {
  name?: string;
  task_type?: string;
  because?: string;
  examples?: number;
  tokens?: number;
  left_out?: Array<string>;
  mapped?: Array<unknown>;
}

/** A piece of the model's reasoning. */
export interface ThinkingDetail {
  text?: string;
}

/** One call an assistant asked for. */
export interface ToolCallSchema {
  id: string;
  name: string;
  arguments: unknown;
}

/** A tool call begins or ends, or prints a `line`. */
export interface ToolDetail {
  call_id?: string;
  tool?: string;
  preview?: string;
  status?: "started" | "completed" | "failed";
  duration?: number;
  error?: string;
  facts?: Record<string, unknown>;
  line?: string;
}

/** Something to say. What is left out is as the session has it, or the default. */
export interface TurnBody {
  message: string;
  runtime: string;
  model: string;
  template: string;
  attachments: Array<AttachmentBody>;
  drop: Array<string>;
  cwd: string;
  when_busy: "refuse" | "wait";
  internal: boolean;
  attended: boolean;
  allow: Array<string>;
}

/** A turn that was started. Follow it from `after` to see all of it. */
export interface TurnStarted {
  turn_id: string;
  session_id: string;
  after: number;
}

/** What one turn used, in the words of its runtime. */
export interface TurnUsage {
  turn_id: string | null;
  status: string;
  at: string | null;
  runtime: string;
  model: string;
  usage: Record<string, unknown>;
}

/** How many messages are hidden now. */
export interface UndoResult {
  hidden: number;
}

/** What a session used. Imported sessions have figures of their own, in `imported`. */
export interface UsageReport {
  input_tokens: number;
  output_tokens: number;
  cost_usd: number | null;
  turns: Array<TurnUsage>;
  imported: Record<string, number>;
}

export type ProgressData =
  | { stage: "prepare"; detail: PrepareDetail }
  | { stage: "queued"; detail: QueuedDetail }
  | { stage: "running"; detail: RunningDetail }
  | { stage: "thinking"; detail: ThinkingDetail }
  | { stage: "tool"; detail: ToolDetail }
  | { stage: "task"; detail: TaskDetail }
  | { stage: "template"; detail: TemplateDetail }
  | { stage: "memory"; detail: MemoryDetail }
  | { stage: "approval"; detail: ApprovalDetail }
  | { stage: "compaction"; detail: CompactionDetail }
  | { stage: "handoff"; detail: HandoffDetail };
