import { definePage } from "@/app/definePage";

export default definePage({
  path: "/templates",
  order: 50,
  icon: "copy",
  label: { en: "Templates", zh: "模板" },
  load: () => import("./TemplatesPage"),
});
