import { Facts } from "@/memory/Facts";
import { useMessages } from "@/memory/messages";
import { Notes } from "@/memory/Notes";
import { Prompts } from "@/memory/Prompts";
import { RecallReasons } from "@/memory/RecallReasons";
import { Skills } from "@/memory/Skills";

export default function Memory() {
  const { t } = useMessages();
  return (
    <div className="page">
      <header className="page-header">
        <h1>{t("nav.memory")}</h1>
      </header>
      <Facts />
      <Notes />
      <Prompts />
      <Skills />
      <RecallReasons />
    </div>
  );
}
