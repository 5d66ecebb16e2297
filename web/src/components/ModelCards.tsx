import { useEffect, useState } from "react";
import { getJson } from "@/api/http";
import { Icon, type IconName } from "@/components/Icon";
import { type CommonKey, useI18n } from "@/i18n";
import { followLink } from "@/router";
import css from "./ModelCards.module.css";

const CARDS: Array<[string, IconName, CommonKey, CommonKey]> = [
  ["/settings/models", "key", "cards.model", "cards.model.hint"],
  ["/sessions", "search", "cards.history", "cards.history.hint"],
  ["/chat/new?say=%2Fhelp", "terminal", "cards.command", "cards.command.hint"],
];

/** As long as no model is connected: what can be done, with the way to connect one first. */
export function ModelCards() {
  const { t } = useI18n();
  const hasModel = useHasModel();
  if (hasModel !== false) return null;
  return (
    <ul className={css.modelCards}>
      {CARDS.map(([href, icon, title, hint]) => (
        <li key={href}>
          <a className="card" href={href} onClick={followLink}>
            <Icon name={icon} size={22} />
            <strong>{t(title)}</strong>
            <span className="dim">{t(hint)}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}

/** Whether a model is connected; null until it is known. */
export function useHasModel(): boolean | null {
  const [hasModel, setHasModel] = useState<boolean | null>(null);
  useEffect(() => {
    const controller = new AbortController();
    getJson<{ default: unknown }>("/api/plugins/models/providers", controller.signal).then(
      (page) => setHasModel(page.default !== null),
      () => undefined,
    );
    return () => controller.abort();
  }, []);
  return hasModel;
}
