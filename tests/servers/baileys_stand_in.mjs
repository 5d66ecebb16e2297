// Stands in for Baileys in tests of the bridge: the functions that bridge.mjs uses, driven over a local connection.
// tests/witnesses/test_whatsapp_bridge.py holds it against the real package.
import { EventEmitter } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { createInterface } from "node:readline";

const { port, signed_in } = JSON.parse(readFileSync(`${process.argv[2]}/control.json`, "utf8"));

export const DisconnectReason = { restartRequired: 515, loggedOut: 401 };
export const jidNormalizedUser = (jid) => (jid ?? "").replace(/:\d+@/, "@").replace("@c.us", "@s.whatsapp.net");
export const normalizeMessageContent = (content) => content;
export const useMultiFileAuthState = async () => ({ state: {}, saveCreds: async () => {} });
export const downloadMediaMessage = async (message) => Buffer.from(message.data, "base64");

function toError(status) {
  return Object.assign(new Error(`refused with ${status}`), { output: { statusCode: status } });
}

export default function makeWASocket() {
  const ev = new EventEmitter();
  const replies = new Map();
  let count = 0;
  if (!signed_in) {
    setTimeout(() => ev.emit("connection.update", { qr: "2@not,a,real,code" }), 10);
    return { ev };
  }
  const line = connect(port, "127.0.0.1", () => ev.emit("connection.update", { connection: "open" }));
  line.on("error", () => {});
  createInterface({ input: line }).on("line", (text) => {
    const said = JSON.parse(text);
    if (said.noise) process.stdout.write("a library prints\n[1]\n");
    if (said.message) ev.emit("messages.upsert", { type: "notify", messages: [said.message] });
    if (said.close) {
      const lastDisconnect = { error: toError(said.close) };
      ev.emit("connection.update", { connection: "close", lastDisconnect });
    }
    if (!said.reply) return;
    const { resolve, reject, chat } = replies.get(said.reply);
    if (said.status) return reject(toError(said.status));
    const key = { remoteJid: chat, id: said.value, fromMe: true };
    ev.emit("messages.upsert", { type: "append", messages: [{ key, message: { conversation: "" } }] });
    resolve({ key });
  });
  const encode = (_, value) => (value?.type === "Buffer" ? { base64: Buffer.from(value.data).toString("base64") } : value);
  const sendMessage = (chat, content) =>
    new Promise((resolve, reject) => {
      count += 1;
      replies.set(count, { resolve, reject, chat });
      line.write(`${JSON.stringify({ id: count, chat, content }, encode)}\n`);
    });
  const user = { id: "4915100:7@s.whatsapp.net", lid: "7000:7@lid", name: "Sojourn" };
  return { ev, user, sendMessage, sendPresenceUpdate: async () => {}, updateMediaMessage: async () => {} };
}
