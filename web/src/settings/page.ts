import { definePage } from "@/app/definePage";

export default definePage({
  path: "/settings",
  order: 90,
  icon: "gear",
  label: { en: "Settings", zh: "设置" },
  load: () => import("./SettingsPage"),
});
