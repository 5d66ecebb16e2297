// Prints what bridge.mjs uses of Baileys, from the real package and from the stand-in of our tests.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [, , folder, standIn] = process.argv;
const real = await import(pathToFileURL(createRequire(`${folder}/`).resolve("baileys")));
const ours = await import(pathToFileURL(standIn));
const JIDS = ["4915100:7@s.whatsapp.net", "7000:7@lid", "4915100@c.us", "120363@g.us", "7000@lid"];
const describe = (module) => ({
  ids: JIDS.map((one) => module.jidNormalizedUser(one)),
  restart: module.DisconnectReason.restartRequired,
  signedOut: module.DisconnectReason.loggedOut,
  plain: module.normalizeMessageContent({ conversation: "x" }),
  functions: ["default", "downloadMediaMessage", "useMultiFileAuthState"].map((name) => typeof module[name]),
});
const silent = { level: "silent", child: () => silent };
for (const name of ["trace", "debug", "info", "warn", "error", "fatal"]) silent[name] = () => {};
const { state } = await real.useMultiFileAuthState(`${folder}/compared`);
const socket = real.default({ auth: state, logger: silent });
const methods = ["sendMessage", "sendPresenceUpdate", "updateMediaMessage"].map((name) => typeof socket[name]);
process.stdout.write(`${JSON.stringify({ real: describe(real), ours: describe(ours), methods })}\n`, () => process.exit(0));
