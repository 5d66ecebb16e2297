import { definePage } from "@/app/definePage";

export default definePage({
  path: "/gateway",
  order: 70,
  icon: "tower",
  label: { en: "Networks", zh: "聊天网络" },
  load: () => import("./GatewayPage"),
});
