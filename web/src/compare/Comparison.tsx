import { useEffect, useState } from "react";
import { Log } from "@/chat/Log";
import { useChatView } from "@/chat/useChatView";
import { useRuntimes } from "@/chat/useRuntimes";
import { useTurnActions } from "@/chat/useTurnActions";
import { getComparisonUrl } from "@/compare/comparison";
import { useMessages } from "@/compare/messages";
import { ErrorMessage } from "@/components/ErrorMessage";
import { Icon } from "@/components/Icon";
import { showToast } from "@/components/Toasts";
import { setPageTitle } from "@/components/usePageTitle";
import { navigate } from "@/router";
import { getSessionLabel, getSessionUrl } from "@/sessions/sessionLinks";
import css from "./Comparison.module.css";

interface Props {
  left: string;
  right: string;
  openList: (() => void) | null;
}

/** Two sessions beside each other, one below the other on a phone; one of them is chosen to go on with. */
export default function Comparison({ left, right, openList }: Props) {
  const { t } = useMessages();
  useEffect(() => setPageTitle(t("compare.title")), [t]);
  const keep = (id: string) => {
    navigate(getSessionUrl(id));
    showToast(t("compare.kept"), () => navigate(getComparisonUrl(left, right)));
  };
  return (
    <section className={css.comparison} aria-label={t("compare.title")}>
      {openList && (
        <button className={`ghost ${css.comparisonList}`} onClick={openList}>
          <Icon name="list" /> {t("action.back")}
        </button>
      )}
      <h1 className="visually-hidden">{t("compare.title")}</h1>
      {[left, right].map((id, index) => (
        <ComparedSession key={id} id={id} number={index + 1} keep={() => keep(id)} />
      ))}
    </section>
  );
}

function ComparedSession({ id, number, keep }: { id: string; number: number; keep: () => void }) {
  const { t } = useMessages();
  const chat = useChatView(id, 0);
  const [failure, setFailure] = useState<unknown>(null);
  const actions = useTurnActions(id, setFailure);
  const runtimes = useRuntimes();
  const last = chat.view.turns.at(-1);
  const usedModel = last?.usage["model"];
  const name =
    (typeof usedModel === "string" && usedModel) ||
    last?.model ||
    runtimes.find((runtime) => runtime.name === last?.runtime)?.label ||
    (chat.session && getSessionLabel(chat.session)) ||
    "…";
  return (
    <section className={css.compared} aria-label={`${number}: ${name}`}>
      <header className={css.comparedHeader}>
        <h2>{name}</h2>
        {chat.running && (
          <button className="ghost" aria-label={t("compare.stop")} title={t("compare.stop")} onClick={chat.stop}>
            <Icon name="stop" size={15} />
          </button>
        )}
        <button className="button" onClick={keep}>
          {t("compare.keep")}
        </button>
      </header>
      <Log chat={chat} session={id} anchor={0} words="" actions={actions}>
        <ErrorMessage error={chat.error} />
        <ErrorMessage error={failure} />
      </Log>
    </section>
  );
}
