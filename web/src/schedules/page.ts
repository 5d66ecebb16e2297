import { definePage } from "@/app/definePage";

export default definePage({
  path: "/schedules",
  order: 65,
  icon: "clock",
  label: { en: "Schedules", zh: "定时" },
  load: () => import("./SchedulesPage"),
});
