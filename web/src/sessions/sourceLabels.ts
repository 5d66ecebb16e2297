// What programs are called by people, where that is not their id with a large first letter.
import { getLanguage } from "@/i18n";

const LABELS: Record<string, string> = {
  "claude-code": "Claude Code",
  opencode: "opencode",
  chatgpt: "ChatGPT",
  "claude-ai": "Claude.ai",
  librechat: "LibreChat",
  "open-webui": "Open WebUI",
  web: "Browser",
  cli: "Terminal",
  whatsapp: "WhatsApp",
  email: "Mail",
  bluebubbles: "iMessage (BlueBubbles)",
  dingtalk: "DingTalk",
  feishu: "Feishu / Lark",
  wecom: "WeCom",
  qq: "QQ",
  qqbot: "QQ",
  weixin: "WeChat (Weixin)",
  wecom_app: "WeCom (own app)",
  homeassistant: "Home Assistant",
  msgraph_webhook: "Microsoft Graph",
  whatsapp_bridge: "WhatsApp (personal, unofficial)",
  "gemini-cli": "Gemini CLI",
  "qwen-code": "Qwen Code",
  "copilot-cli": "Copilot CLI",
  goose: "goose",
  ntfy: "ntfy",
  irc: "IRC",
  xmpp: "XMPP",
  teams: "Microsoft Teams",
  twilio: "Text messages (Twilio)",
  sms: "Text messages",
  line: "LINE",
  mail: "Mail",
  api_server: "HTTP API",
  cron: "Scheduled",
  api: "API",
  local: "Local room",
  subagent: "Sub-agent",
};

const IN_CHINESE: Record<string, string> = {
  web: "浏览器",
  cli: "终端",
  local: "本地房间",
  sample: "示例",
  cron: "定时",
  subagent: "子智能体",
};

export const getSourceLabel = (source: string): string =>
  (getLanguage() === "zh" ? IN_CHINESE[source] : undefined) ??
  LABELS[source] ??
  source.charAt(0).toUpperCase() + source.slice(1);
