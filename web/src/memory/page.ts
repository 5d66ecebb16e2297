import { definePage } from "@/app/definePage";

export default definePage({
  path: "/memory",
  order: 60,
  icon: "bulb",
  label: { en: "Memory", zh: "记忆" },
  load: () => import("./MemoryPage"),
});
