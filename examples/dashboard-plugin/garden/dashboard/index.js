const root = document.getElementById("root");
root.innerHTML = '<h1>Garden</h1><div class="card"><button>Plant a tulip</button> <output></output></div><ul></ul>';
root.querySelector("button").onclick = async () => {
  root.querySelector("output").textContent = (await sojourn.api("plants?name=tulip", { method: "POST" })).join(", ");
  sojourn.toast("Planted.");
};
sojourn.sessions.list({ limit: 5 }).then(({ sessions }) => sessions.forEach((one) => {
  root.querySelector("ul").append(Object.assign(document.createElement("li"), { textContent: one.title ?? one.id }));
}));
