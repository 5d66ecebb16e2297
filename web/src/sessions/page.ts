import { definePage } from "@/app/definePage";

export default definePage({
  path: "/sessions",
  order: 20,
  icon: "list",
  label: { en: "Sessions", zh: "会话" },
  load: () => import("./SessionsPage"),
});
