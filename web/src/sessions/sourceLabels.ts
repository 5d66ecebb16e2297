// What programs are called by people; an unknown one keeps its id.
const LABELS: Record<string, string> = {
  "claude-code": "Claude Code",
  codex: "Codex",
  opencode: "opencode",
  sojourn: "Sojourn",
  hermes: "Hermes",
  web: "Browser",
  cli: "Terminal",
  telegram: "Telegram",
  discord: "Discord",
  slack: "Slack",
  matrix: "Matrix",
  whatsapp: "WhatsApp",
  signal: "Signal",
  email: "Mail",
  cron: "Scheduled",
  sample: "Sample",
  api: "API",
  local: "Local room",
};

export const getSourceLabel = (source: string): string => LABELS[source] ?? source;
