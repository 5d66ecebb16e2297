/* Achievements, counted by Sojourn. The badges are those of hermes-achievements (PCinkusz, MIT).
   A plain list; the full page replaces this file. */
(function () {
  var sdk = window.__HERMES_PLUGIN_SDK__, plugins = window.__HERMES_PLUGINS__;
  if (!sdk || !plugins) return;
  var h = sdk.React.createElement, base = "/api/plugins/hermes-achievements/";

  function Badge(props) {
    var badge = props.badge;
    var numbers = badge.state === "secret" ? "hidden"
      : badge.progress.toLocaleString() + (badge.next_tier ? " / " + badge.next_threshold.toLocaleString() : "");
    return h("li", { className: "sojourn-badge sojourn-" + badge.state },
      h("strong", null, badge.name), " ",
      h("span", null, badge.tier || (badge.unlocked ? "complete" : badge.next_tier || "")), " ",
      h("span", null, numbers),
      h("p", null, badge.description));
  }

  function Page() {
    var state = sdk.hooks.useState({ answer: null, error: null });
    var shown = state[0], show = state[1];
    sdk.hooks.useEffect(function () {
      var timer = null, gone = false;
      function load() {
        sdk.fetchJSON(base + "achievements").then(function (answer) {
          if (gone) return;
          show({ answer: answer, error: answer.error });
          if (answer.is_stale || answer.serving_state === "SCANNING") timer = setTimeout(load, 4000);
        }, function (error) { if (!gone) show({ answer: null, error: String(error) }); });
      }
      load();
      return function () { gone = true; clearTimeout(timer); };
    }, []);
    if (!shown.answer) return h("p", { role: "status" }, shown.error || "Counting…");
    return h("section", { className: "sojourn-achievements" },
      h("h1", null, "Achievements"),
      h("p", { role: "status" }, shown.answer.unlocked_count + " of " + shown.answer.total_count + " unlocked" +
        (shown.answer.is_stale ? " · updating in the background" : "")),
      shown.error ? h("p", { role: "alert" }, shown.error) : null,
      h("ul", null, shown.answer.achievements.map(function (badge) { return h(Badge, { key: badge.id, badge: badge }); })));
  }

  plugins.register("hermes-achievements", Page);
})();
