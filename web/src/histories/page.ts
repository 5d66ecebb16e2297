import { definePage } from "@/app/definePage";

export default definePage({
  path: "/import",
  order: 80,
  icon: "download",
  label: { en: "Import", zh: "导入" },
  load: () => import("./HistoriesPage"),
});
