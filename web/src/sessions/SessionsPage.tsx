import { useEffect, useState } from "react";
import { getJson, sendJson } from "@/api/http";
import type { Session } from "@/api/types";
import { SelectionBar } from "@/bulk/SelectionBar";
import { buildSelectionKeys } from "@/bulk/selectionKeys";
import { useSelection } from "@/bulk/useSelection";
import { Dialog } from "@/components/Dialog";
import { ErrorMessage } from "@/components/ErrorMessage";
import { Icon } from "@/components/Icon";
import { showToast } from "@/components/Toasts";
import { useIsPhone } from "@/components/useIsPhone";
import { VirtualList } from "@/components/VirtualList";
import { formatNumber } from "@/i18n";
import { followLink, navigate, useLocation } from "@/router";
import { AskHistory } from "@/sessions/AskHistory";
import { Facets } from "@/sessions/Facets";
import { useMessages } from "@/sessions/messages";
import { SearchResults } from "@/sessions/SearchResults";
import { SessionRow } from "@/sessions/SessionRow";
import { countChosen, type SessionFilter, toListQuery, useSessionFilter } from "@/sessions/sessionFilter";
import { useSessions } from "@/sessions/useSessions";
import css from "./SessionsPage.module.css";

const ROW_PX = 76;

/** Every session, to search and to filter. One session is opened in the workspace. */
export default function SessionsPage({ rest }: { rest: string }) {
  const query = useLocation().split("?")[1];
  useEffect(() => {
    if (rest) navigate(`/chat/${encodeURIComponent(rest)}${query ? `?${query}` : ""}`, true);
  }, [rest, query]);
  return rest ? null : <Library />;
}

function Library() {
  const { t } = useMessages();
  const isPhone = useIsPhone();
  const [filter, change] = useSessionFilter();
  const [words, setWords] = useSearchBox(filter.words, (text) =>
    change({ words: text, ...(filter.view === "archived" ? {} : { view: "" as const }) }),
  );
  const [isOpen, setIsOpen] = useState(false);
  const chosen = countChosen(filter);
  const clear = () =>
    change({ facets: { program: [], project: [], model: [], tool: [], tag: [] }, since: "", until: "" });
  const facets = <Facets filter={filter} change={change} clear={chosen ? clear : null} />;
  return (
    <div className={css.library}>
      {!isPhone && <aside className={css.facetColumn}>{facets}</aside>}
      <section className={css.sessionsList}>
        <div className={css.libraryHeader}>
          <h1>{t("nav.sessions")}</h1>
          <a className="button" href="/import" onClick={followLink}>
            <Icon name="download" size={16} /> {t("nav.import")}
          </a>
        </div>
        <div className={css.searchRow}>
          <input
            data-search
            type="search"
            placeholder={t("sessions.search")}
            aria-label={t("sessions.search")}
            value={words}
            onChange={(event) => setWords(event.target.value)}
          />
          {isPhone && (
            <button className="button" aria-haspopup="dialog" onClick={() => setIsOpen(true)}>
              <Icon name="filter" size={16} /> {t("filter.title")}
              {chosen > 0 && <span className="pill">{chosen}</span>}
            </button>
          )}
        </div>
        <ViewTabs filter={filter} change={change} />
        {filter.words.trim() ? (
          <>
            <AskHistory words={filter.words.trim()} />
            <SearchResults filter={filter} clear={chosen ? clear : null} />
          </>
        ) : (
          <SessionList filter={filter} clear={chosen ? clear : null} />
        )}
      </section>
      {isPhone && isOpen && (
        <Dialog label={t("filter.title")} close={() => setIsOpen(false)} closeLabel={t("action.close")}>
          <h2>{t("filter.title")}</h2>
          {facets}
        </Dialog>
      )}
    </div>
  );
}

const TYPING_MS = 200;

/** A box whose text reaches the address when the person pauses, and follows it when it changes elsewhere. */
function useSearchBox(words: string, submit: (text: string) => void): [string, (text: string) => void] {
  const [text, setText] = useState(words);
  useEffect(() => setText(words), [words]);
  useEffect(() => {
    if (text === words) return;
    const timer = setTimeout(() => submit(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return [text, setText];
}

function ViewTabs({ filter, change }: { filter: SessionFilter; change: (changes: Partial<SessionFilter>) => void }) {
  const { t } = useMessages();
  const views = [
    ["", "sessions.view.all"],
    ["pinned", "sessions.view.pinned"],
    ["archived", "sessions.view.archived"],
    ["trash", "sessions.view.trash"],
  ] as const;
  return (
    <div className={css.viewTabs} role="group" aria-label={t("sessions.view")}>
      {views.map(([view, label]) => (
        <button key={view} aria-pressed={filter.view === view} onClick={() => change({ view })}>
          {t(label)}
        </button>
      ))}
    </div>
  );
}

/** How many sessions the whole list leaves out because they are archived. */
function useArchivedCount(isWhole: boolean, total: number | null): number {
  const [archived, setArchived] = useState(0);
  useEffect(() => {
    setArchived(0);
    if (!isWhole || total === null) return;
    const controller = new AbortController();
    getJson<{ total: number }>("/api/sessions?archived=yes&limit=1&count=true", controller.signal).then(
      (page) => setArchived(page.total),
      () => undefined,
    );
    return () => controller.abort();
  }, [isWhole, total]);
  return archived;
}

function SessionList({ filter, clear }: { filter: SessionFilter; clear: (() => void) | null }) {
  const { t, language } = useMessages();
  const { total, getSession, loadRange, error, reload } = useSessions(filter);
  const archived = useArchivedCount(!clear && filter.view === "", total);
  const selection = useSelection(toListQuery(filter), getSession);
  const restore = (session: Session) =>
    sendJson("PATCH", `/api/sessions/${encodeURIComponent(session.id)}`, { trashed: false }).then(() => {
      showToast(t("sessions.restored"));
      reload();
    });
  return (
    <>
      <ErrorMessage error={error} />
      {selection.isActive ? (
        <SelectionBar selection={selection} view={filter.view} onChange={reload} />
      ) : (
        <div className={css.sessionTotal}>
          <p className="dim" role="status">
            {total === null ? t("loading") : t("sessions.total", { n: formatNumber(total, language) })}
            {archived > 0 && ` · ${t("sessions.total.archived", { n: formatNumber(archived, language) })}`}
          </p>
          {total !== null && total > 0 && (
            <button className="ghost" onClick={selection.start}>
              <Icon name="check" size={15} /> {t("sessions.select")}
            </button>
          )}
        </div>
      )}
      {total === 0 ? (
        <div className="empty-state">
          <p>{t(clear || filter.view ? "sessions.none" : "sessions.first")}</p>
          {clear && (
            <button className="button" onClick={clear}>
              {t("filter.clear")}
            </button>
          )}
          {!clear && !filter.view && (
            <div className={`row ${css.firstSteps}`}>
              <a className="button primary" href="/chat/new" onClick={followLink}>
                <Icon name="plus" size={16} /> {t("sessions.newchat")}
              </a>
              <a className="button" href="/import" onClick={followLink}>
                <Icon name="download" size={16} /> {t("sessions.import")}
              </a>
            </div>
          )}
        </div>
      ) : (
        <VirtualList
          count={total ?? 0}
          rowHeight={ROW_PX}
          onRangeChange={loadRange}
          label={t("nav.sessions")}
          onKey={buildSelectionKeys(selection)}
          renderRow={(index) => (
            <SessionRow
              session={getSession(index)}
              selection={selection}
              index={index}
              onChange={reload}
              restore={filter.view === "trash" ? restore : null}
            />
          )}
        />
      )}
    </>
  );
}
