import { definePage } from "@/app/definePage";

export default definePage({
  path: "/chat",
  order: 10,
  icon: "chat",
  label: { en: "Chat", zh: "对话" },
  load: () => import("./ChatPage"),
});
