import { useEffect, useState } from "react";
import { getJson, isAbortError } from "@/api/http";
import type { SearchHit } from "@/api/types";
import { useMessages } from "@/chat/messages";
import { Icon } from "@/components/Icon";
import { navigate } from "@/router";
import { getSessionUrl } from "@/sessions/sessionLinks";
import css from "./FindBar.module.css";

/** Search inside one session: each hit is a message, reached with next and previous. */
export function FindBar({
  id,
  anchor,
  words,
  close,
}: {
  id: string;
  anchor: number;
  words: string;
  close: () => void;
}) {
  const { t } = useMessages();
  const [text, setText] = useState(words);
  const [hits, setHits] = useState<number[] | null>(null);
  useEffect(() => setText(words), [words]);
  useEffect(() => {
    if (!text.trim()) return setHits(null);
    const controller = new AbortController();
    const timer = setTimeout(() => {
      const url = `/api/search?session=${encodeURIComponent(id)}&order=newest&limit=200&q=${encodeURIComponent(text.trim())}`;
      getJson<{ hits: SearchHit[] }>(url, controller.signal).then(
        (page) => setHits([...new Set(page.hits.map((hit) => hit.seq).filter(Boolean))].sort((a, b) => a - b)),
        (problem: unknown) => {
          if (!isAbortError(problem)) setHits([]);
        },
      );
    }, 150);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [id, text]);
  const index = hits?.indexOf(anchor) ?? -1;
  const move = (step: 1 | -1) => {
    if (!hits?.length) return;
    const from = index >= 0 ? index + step : step > 0 ? 0 : hits.length - 1;
    const seq = hits[(from + hits.length) % hits.length]!;
    navigate(getSessionUrl(id, seq, text.trim()), true);
  };
  return (
    <form
      className={css.findBar}
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        move(1);
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") close();
      }}
    >
      <Icon name="search" size={16} />
      <input
        autoFocus={!words}
        type="search"
        aria-label={t("find.label")}
        placeholder={t("find.label")}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <span className={css.findCount} role="status">
        {hits === null ? "" : hits.length ? t("find.count", { n: index + 1, of: hits.length }) : t("find.none")}
      </span>
      <button
        type="button"
        className="ghost"
        onClick={() => move(-1)}
        disabled={!hits?.length}
        aria-label={t("find.previous")}
        title={t("find.previous")}
      >
        <Icon name="up" />
      </button>
      <button className="ghost" disabled={!hits?.length} aria-label={t("find.next")} title={t("find.next")}>
        <Icon name="down" />
      </button>
      <button type="button" className="ghost" onClick={close} aria-label={t("action.close")}>
        <Icon name="close" />
      </button>
    </form>
  );
}
