// The only way out of a plugin's frame. `sojourn` is there before the plugin's own script runs.
"use strict";
(() => {
  const root = document.documentElement;
  const waiting = new Map();
  const listeners = { theme: new Set(), language: new Set() };
  const held = []; // what was said before the host answered
  let port = null;
  let last = 0;
  let welcomed;
  const ready = new Promise((done) => { welcomed = done; });
  // The content policy closes every way to a network but this one.
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection"]) delete window[name];
  root.dataset.theme = location.hash === "#dark" ? "dark" : "light";

  const say = (what) => (port ? port.postMessage(what) : held.push(what));
  const ask = (what, given = {}) => new Promise((done, failed) => {
    last += 1;
    waiting.set(last, { done, failed });
    say({ id: last, ask: what, given });
  });
  const failure = (told) => Object.assign(new Error(told.message), { code: told.code, hint: told.hint, status: told.status });

  function heard({ data }) {
    if (data.ping) return say({ pong: true });
    if (data.changed) {
      if (data.changed === "theme") root.dataset.theme = data.value;
      if (data.changed === "language") root.lang = data.value;
      listeners[data.changed]?.forEach((hear) => hear(data.value));
      return;
    }
    const asked = waiting.get(data.id);
    if (!asked) return;
    waiting.delete(data.id);
    if (data.failed) asked.failed(failure(data.failed));
    else asked.done(data.value);
  }

  window.addEventListener("message", (event) => {
    if (event.source !== window.parent || event.data?.sojourn !== "welcome" || port) return;
    const { theme, language, plugin } = event.data;
    port = event.ports[0];
    port.onmessage = heard;
    root.dataset.theme = theme;
    root.lang = language;
    held.splice(0).forEach((what) => port.postMessage(what));
    welcomed({ theme, language, plugin });
  });
  window.addEventListener("error", (event) => say({ stumbled: String(event.message) }));
  window.addEventListener("unhandledrejection", (event) => say({ stumbled: String(event.reason?.message ?? event.reason) }));

  window.addEventListener("keydown", (event) => { // the way to every other page
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "k") return;
    event.preventDefault();
    say({ key: "palette" });
  });

  window.sojourn = Object.freeze({
    version: 1,
    ready, // {theme, language, plugin: {name, label, version, needs}}
    /** Your own API: `await sojourn.api("plants")`, `await sojourn.api("plants", {method: "POST", json: {…}})`. */
    api: (path, { method = "GET", json } = {}) => ask("api", { path: String(path), method, json }),
    sessions: Object.freeze({
      /** {text, limit, before} → {sessions, next}. Needs `sessions:read`. */
      list: (wanted = {}) => ask("sessions.list", wanted),
      /** One session and its messages: {after, limit} → {session, messages, next}. Needs `sessions:read`. */
      read: (id, wanted = {}) => ask("sessions.read", { ...wanted, id: String(id) }),
    }),
    /** Shows a page of the application, e.g. `sojourn.go("/sessions/" + id)`. */
    go: (path) => ask("go", { path: String(path) }),
    /** A short word to the person. */
    toast: (text) => ask("toast", { text: String(text) }),
    /** `sojourn.on("theme", (theme) => …)` or "language"; gives a function that stops it. */
    on: (what, hear) => {
      listeners[what].add(hear);
      return () => listeners[what].delete(hear);
    },
  });
  window.parent.postMessage({ sojourn: "hello" }, "*"); // the answer comes with a port that is ours alone
})();
