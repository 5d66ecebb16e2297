import { definePage } from "@/app/definePage";

/** The page of a built-in plugin, whose manifest says where it stands. */
export default definePage({
  plugin: "hermes-achievements",
  path: "/achievements",
  order: 30,
  icon: "star",
  label: { en: "Achievements", zh: "成就" },
  load: () => import("./AchievementsPage"),
});
