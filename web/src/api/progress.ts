// Written by `python -m scripts.progress_types` from the OpenAPI document. A test keeps it up to date.

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

/** Another surface took over. */
export interface HandoffDetail {
  from?: string;
  to?: string;
  by?: string;
}

/** A block of context that the runtime receives. */
export interface MemoryDetail {
  kind?: string;
  title?: string;
  origin?: string;
  reason?: string;
  tokens?: number;
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

/** The turn waits for its model or agent, or another request waits for this turn (`queued`). */
export interface QueuedDetail {
  runtime?: string;
  because?: string;
  reason?: string;
  attempt?: number;
  seconds?: number;
  queued?: string;
  by?: string;
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
