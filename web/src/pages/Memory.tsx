import { useI18n } from "@/i18n";
import { Facts } from "@/memory/Facts";
import { RecallReasons } from "@/memory/RecallReasons";
import { Skills } from "@/memory/Skills";

export default function Memory() {
  const { t } = useI18n();
  return (
    <div className="page">
      <header className="page-header"><h1>{t("nav.memory")}</h1></header>
      <Facts />
      <RecallReasons />
      <Skills />
    </div>
  );
}
