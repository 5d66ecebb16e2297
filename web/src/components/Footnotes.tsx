import { createContext, type MouseEvent, type ReactNode, useContext } from "react";
import type { FootnoteReferenceToken, FootnoteToken } from "@/components/footnotes";
import { useI18n } from "@/i18n";
import css from "./Footnotes.module.css";

/** The beginning of the ids in one message: two messages may have notes with the same number. */
export const FootnotePrefix = createContext("");

export function FootnoteReference({ reference }: { reference: FootnoteReferenceToken }) {
  const { t } = useI18n();
  const prefix = useContext(FootnotePrefix);
  if (!reference.number) return <>{reference.raw}</>;
  return (
    <sup className={css.footnoteReference}>
      <a
        id={reference.isFirst ? `${prefix}back${reference.number}` : undefined}
        href={`#${prefix}note${reference.number}`}
        aria-label={t("footnote.open", { n: reference.number })}
        onClick={jump}
      >
        {reference.number}
      </a>
    </sup>
  );
}

/** The notes below a message. */
export function FootnoteList({
  notes,
  render,
}: {
  notes: FootnoteToken[];
  render: (note: FootnoteToken) => ReactNode;
}) {
  const { t } = useI18n();
  const prefix = useContext(FootnotePrefix);
  if (!notes.length) return null;
  return (
    <section className={css.footnotes} aria-label={t("footnote.list")}>
      <ol>
        {notes.map((note) => (
          <li key={note.number} id={`${prefix}note${note.number}`} tabIndex={-1}>
            {render(note)}
            <a href={`#${prefix}back${note.number}`} aria-label={t("footnote.back", { n: note.number })} onClick={jump}>
              ↩
            </a>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Moves to the other end of a link within the page, without an entry in the history. */
function jump(event: MouseEvent<HTMLAnchorElement>): void {
  event.preventDefault();
  const target = document.getElementById(event.currentTarget.hash.slice(1));
  target?.scrollIntoView({ block: "center" });
  target?.focus({ preventScroll: true });
}
