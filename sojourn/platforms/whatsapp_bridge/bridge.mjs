// The bridge between Sojourn and WhatsApp: one linked device, through Baileys, which the person has installed.
//
// It speaks JSON lines: requests and acknowledgements on stdin, events and replies on stdout. A message is kept in a
// file until it is acknowledged, so a restart of either side loses none. It ends when stdin does.
//
//   → {"id": 1, "call": "send", "chat": "…@lid", "text": "hello"}      ← {"reply": 1, "value": {"id": "3EB0…"}}
//   → {"ack": 7}                                                       ← {"event": "message", "number": 7, …}
//                                                                      ← {"event": "state", "state": "open", …}
import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import makeWASocket, {
  DisconnectReason,
  downloadMediaMessage,
  jidNormalizedUser,
  normalizeMessageContent,
  useMultiFileAuthState,
} from "baileys";

const MAX_FILE_BYTES = 16 * 1024 * 1024;
const MAX_SENT = 1000; // ids
const FOLDER = process.argv[2];
const AUTH = `${FOLDER}/auth`;
const WAITING = `${FOLDER}/waiting`;
process.umask(0o077);
for (const folder of [AUTH, WAITING]) {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
}
for (const name of ["log", "info", "warn", "debug"]) console[name] = console.error; // stdout is ours

const SILENT = { level: "silent", child: () => SILENT };
for (const name of ["trace", "debug", "info", "warn", "error", "fatal"]) SILENT[name] = () => {};

const write = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
const sent = new Set(); // ids of what we wrote, which comes back from the account
let socket;
let number = 0;

function keep(event) {
  number += 1;
  const file = `${WAITING}/${String(number).padStart(12, "0")}.json`;
  writeFileSync(`${file}.part`, JSON.stringify({ ...event, number }));
  renameSync(`${file}.part`, file);
  write({ ...event, number });
}

function tellWaiting() {
  for (const name of readdirSync(WAITING).sort()) {
    if (!name.endsWith(".json")) continue;
    number = Number.parseInt(name, 10);
    write(JSON.parse(readFileSync(`${WAITING}/${name}`, "utf8")));
  }
}

function acknowledge(count) {
  for (const name of readdirSync(WAITING)) {
    if (name.endsWith(".json") && Number.parseInt(name, 10) <= count) unlinkSync(`${WAITING}/${name}`);
  }
}

// A person has an identifier (@lid) and mostly a number; the identifier stays the same.
const choose = (one, other) => jidNormalizedUser(`${other ?? ""}`.endsWith("@lid") ? other : one ?? "");

const asText = (value) => (typeof value === "string" ? value : "");

async function toEvent(message) {
  const { key } = message;
  const content = normalizeMessageContent(message.message) ?? {};
  const [kind, body] = Object.entries(content).find(([, value]) => value?.mimetype) ?? [];
  const context = Object.values(content).find((value) => value?.contextInfo)?.contextInfo ?? {};
  const isGroup = key.remoteJid.endsWith("@g.us");
  const event = {
    event: "message",
    id: asText(key.id),
    chat: isGroup ? key.remoteJid : choose(key.remoteJid, key.remoteJidAlt),
    sender: isGroup ? choose(key.participant, key.participantAlt) : choose(key.remoteJid, key.remoteJidAlt),
    name: asText(message.pushName),
    text: asText(content.conversation ?? content.extendedTextMessage?.text ?? body?.caption),
    at: Number(message.messageTimestamp ?? 0) || 0,
    from_me: Boolean(key.fromMe),
    is_group: isGroup,
    reply_to: asText(context.stanzaId),
    reply_to_sender: jidNormalizedUser(asText(context.participant)),
    mentions: [context.mentionedJid ?? []].flat().map((one) => jidNormalizedUser(asText(one))),
    files: [],
  };
  if (kind) event.files.push(await fetchFile(message, kind, body));
  return event;
}

async function fetchFile(message, kind, body) {
  const extension = (body.mimetype ?? "").split(";")[0].split("/")[1] ?? "bin";
  const name = asText(body.fileName) || `${kind.replace("Message", "")}.${extension}`;
  const file = { name, media_type: asText(body.mimetype) };
  if (Number(body.fileLength ?? 0) > MAX_FILE_BYTES) return { ...file, problem: "it is larger than 16 MB" };
  try {
    const options = { logger: SILENT, reuploadRequest: socket.updateMediaMessage };
    const data = await downloadMediaMessage(message, "buffer", {}, options);
    return { ...file, data: data.toString("base64") };
  } catch (error) {
    return { ...file, problem: `${error.message}`.slice(0, 200) };
  }
}

async function onMessages({ messages, type }) {
  if (type !== "notify") return;
  for (const message of messages) {
    try {
      if (isHeard(message)) keep(await toEvent(message));
    } catch (error) {
      console.error(`a message was not understood: ${error.message}`); // the next ones are
    }
  }
}

function isHeard({ key, message }) {
  const isPrivateOrGroup = /@(s\.whatsapp\.net|lid|g\.us)$/.test(key.remoteJid ?? "");
  const content = normalizeMessageContent(message) ?? {};
  const isChange = content.protocolMessage || content.reactionMessage; // edits and reactions of others
  return isPrivateOrGroup && message && asText(key.id) && !isChange && !sent.has(key.id);
}

function onConnection({ connection, lastDisconnect, qr }) {
  if (qr) write({ event: "state", state: "scan", code: qr });
  if (connection === "open") {
    const [me, lid] = [socket.user?.id, socket.user?.lid].map((one) => (one ? jidNormalizedUser(one) : ""));
    write({ event: "state", state: "open", me, lid, name: socket.user?.name ?? "" });
    tellWaiting();
  }
  if (connection !== "close") return;
  const status = lastDisconnect?.error?.output?.statusCode ?? 0;
  if (status === DisconnectReason.restartRequired) {
    start(); // after the first sign-in
    return;
  }
  const state = status === DisconnectReason.loggedOut ? "signed_out" : "closed";
  write({ event: "state", state, status, reason: `${lastDisconnect?.error?.message ?? ""}`.slice(0, 200) });
  process.exitCode = 1;
  setTimeout(() => process.exit(1), 200); // what was written gets out
}

async function start() {
  const { state, saveCreds } = await useMultiFileAuthState(AUTH);
  socket = makeWASocket({ auth: state, logger: SILENT, markOnlineOnConnect: false, syncFullHistory: false });
  socket.ev.on("creds.update", saveCreds);
  socket.ev.on("connection.update", onConnection);
  let order = Promise.resolve(); // messages one after the other, files included
  socket.ev.on("messages.upsert", (upsert) => {
    order = order.then(() => onMessages(upsert)).catch((error) => console.error(error));
  });
}

const toKey = ({ chat, message, sender, from_me }) => ({
  remoteJid: chat,
  id: message,
  fromMe: from_me,
  ...(chat.endsWith("@g.us") && sender ? { participant: sender } : {}),
});

async function post(chat, content, options) {
  const made = await socket.sendMessage(chat, content, options);
  sent.add(made.key.id);
  if (sent.size > MAX_SENT) sent.delete(sent.values().next().value);
  return { id: made.key.id };
}

const CALLS = {
  send: ({ chat, text, quoted }) => {
    const options = quoted ? { quoted: { key: toKey({ chat, ...quoted }), message: { conversation: "" } } } : {};
    return post(chat, { text }, options);
  },
  edit: (given) => post(given.chat, { text: given.text, edit: toKey({ ...given, from_me: true }) }),
  react: (given) => post(given.chat, { react: { text: given.sign, key: toKey(given) } }),
  typing: async ({ chat }) => {
    await socket.sendPresenceUpdate("composing", chat);
    return {};
  },
  file: ({ chat, name, media_type, data, caption }) => {
    const bytes = Buffer.from(data, "base64");
    const content = media_type.startsWith("image/") ? { image: bytes } : { document: bytes, fileName: name };
    return post(chat, { ...content, mimetype: media_type, caption: caption || undefined });
  },
};

async function answer(request) {
  if (request.ack !== undefined) {
    acknowledge(request.ack);
    return;
  }
  try {
    if (!CALLS[request.call]) throw new Error(`there is no call ${request.call}`);
    write({ reply: request.id, value: await CALLS[request.call](request) });
  } catch (error) {
    const status = error.output?.statusCode ?? error.data ?? 0;
    write({ reply: request.id, error: `${error.message}`.slice(0, 300), status: Number(status) || 0 });
  }
}

createInterface({ input: process.stdin })
  .on("line", (line) => answer(JSON.parse(line)))
  .on("close", () => process.exit(0));
await start();
