import { definePage } from "@/app/definePage";

export default definePage({
  path: "/insights",
  order: 40,
  icon: "chart",
  label: { en: "Insights", zh: "洞察" },
  load: () => import("./InsightsPage"),
});
