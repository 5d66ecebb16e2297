// Asks Sojourn what opencode asks, and tells it when opencode waits. Without Sojourn nothing changes.
import { spawn } from "node:child_process";

const COMMAND = ["COMMAND"];
const IDLE_MS = 60_000;

function callHook(event) {
  const child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"] });
  const answer = new Promise((resolve) => {
    let output = "";
    child.stdout.on("data", (data) => (output += data));
    child.on("error", () => resolve(null));
    child.on("close", (code) => {
      try {
        resolve(code === 0 && output ? JSON.parse(output) : null);
      } catch {
        resolve(null);
      }
    });
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(event));
  });
  return { child, answer };
}

export const Sojourn = async ({ client, directory }) => {
  const timers = new Map();
  const asked = new Map();
  const forget = (session) => {
    clearTimeout(timers.get(session));
    timers.delete(session);
  };
  const ask = async (request) => {
    const { id, sessionID, permission, patterns, metadata } = request;
    const command = typeof metadata?.command === "string" ? metadata.command : undefined;
    const tool_input = command ? { command } : { patterns, ...metadata };
    const event = { hook_event_name: "PermissionRequest", session_id: sessionID, cwd: directory };
    const { child, answer: answered } = callHook({ ...event, tool_name: permission, tool_input });
    asked.set(id, child);
    const answer = await answered;
    if (!answer || !asked.delete(id)) return; // no answer, or it was answered here
    const reply = answer.reply === "once" ? "once" : "reject";
    await client
      .postSessionIdPermissionsPermissionId({ path: { id: sessionID, permissionID: id }, body: { response: reply } })
      .catch(() => {});
  };
  return {
    event: async ({ event }) => {
      const given = event.properties ?? {};
      if (event.type === "permission.asked") {
        forget(given.sessionID);
        void ask(given);
      } else if (event.type === "permission.replied") {
        const id = given.requestID ?? given.permissionID;
        const child = asked.get(id);
        if (asked.delete(id)) child.kill(); // it was answered here: the question there is withdrawn
      } else if (event.type === "session.idle") {
        forget(given.sessionID);
        const waiting = { hook_event_name: "Notification", notification_type: "idle_prompt" };
        const tell = () => void callHook({ ...waiting, session_id: given.sessionID, cwd: directory });
        timers.set(given.sessionID, setTimeout(tell, IDLE_MS).unref());
      } else if (event.type === "session.status" && given.status?.type !== "idle") {
        forget(given.sessionID);
      }
    },
  };
};
