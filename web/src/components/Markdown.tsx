// Markdown as React elements. No HTML is ever made of what a model wrote: a tag in it is shown as text.
import { marked, type Token, type Tokens } from "marked";
import { memo, useEffect, useState, type ReactNode } from "react";
import { Icon } from "@/components/Icon";
import { useWords } from "@/i18n";

const SAFE = /^(https?:|mailto:|#)/i;

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return <div className="prose">{blocks(marked.lexer(text))}</div>;
});

function blocks(tokens: Token[]): ReactNode[] {
  return tokens.map((token, index) => <Block key={index} token={token} />);
}

function Block({ token }: { token: Token }): ReactNode {
  switch (token.type) {
    case "heading": {
      const Tag = `h${Math.min(6, (token as Tokens.Heading).depth + 2)}` as "h3";
      return <Tag>{inline(token.tokens)}</Tag>;
    }
    case "paragraph": return <p>{inline(token.tokens)}</p>;
    case "code": return <Code text={(token as Tokens.Code).text} language={(token as Tokens.Code).lang ?? ""} />;
    case "blockquote": return <blockquote>{blocks(token.tokens ?? [])}</blockquote>;
    case "hr": return <hr />;
    case "list": return <List list={token as Tokens.List} />;
    case "table": return <Grid table={token as Tokens.Table} />;
    case "space": return null;
    case "text": return token.tokens ? <>{inline(token.tokens)}</> : <>{plain((token as Tokens.Text).text)}</>;
    default: return <p>{token.raw}</p>; // HTML, too, is only text here
  }
}

function List({ list }: { list: Tokens.List }) {
  const items = list.items.map((item, index) => (
    <li key={index}>
      {item.task && <input type="checkbox" checked={item.checked ?? false} readOnly disabled />}
      {blocks(item.tokens.filter((one) => (one.type as string) !== "checkbox"))}
    </li>
  ));
  return list.ordered ? <ol start={Number(list.start) || 1}>{items}</ol> : <ul>{items}</ul>;
}

function Grid({ table }: { table: Tokens.Table }) {
  return (
    <div className="scroll-x" tabIndex={0}>
      <table>
        <thead><tr>{table.header.map((cell, index) => <th key={index}>{inline(cell.tokens)}</th>)}</tr></thead>
        <tbody>{table.rows.map((row, at) => <tr key={at}>{row.map((cell, index) => <td key={index}>{inline(cell.tokens)}</td>)}</tr>)}</tbody>
      </table>
    </div>
  );
}

function inline(tokens: Token[] | undefined): ReactNode[] {
  return (tokens ?? []).map((token, index) => <Inline key={index} token={token} />);
}

function Inline({ token }: { token: Token }): ReactNode {
  switch (token.type) {
    case "strong": return <strong>{inline(token.tokens)}</strong>;
    case "em": return <em>{inline(token.tokens)}</em>;
    case "del": return <del>{inline(token.tokens)}</del>;
    case "codespan": return <code>{plain((token as Tokens.Codespan).text)}</code>;
    case "br": return <br />;
    case "link": {
      const link = token as Tokens.Link;
      return SAFE.test(link.href) ? <a href={link.href} target="_blank" rel="noopener noreferrer">{inline(link.tokens)}</a> : <>{link.raw}</>;
    }
    case "image": return <>{token.raw}</>; // a picture from elsewhere would tell that this was read
    case "escape": return <>{(token as Tokens.Escape).text}</>;
    case "text": return token.tokens ? <>{inline(token.tokens)}</> : <>{plain((token as Tokens.Text).text)}</>;
    default: return <>{token.raw}</>;
  }
}

const ENTITIES: Record<string, string> = { "&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"', "&#39;": "'" };
/** The lexer may escape what it takes for HTML; React does that itself. */
const plain = (text: string): string => text.replace(/&(lt|gt|amp|quot|#39);/g, (whole) => ENTITIES[whole] ?? whole);

export function Code({ text, language }: { text: string; language: string }) {
  const { t } = useWords();
  const [copied, setCopied] = useState(false);
  const copy = () => {
    void navigator.clipboard.writeText(text).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), 1500);
    });
  };
  return (
    <figure className="code">
      <figcaption><span>{language}</span> <button className="ghost" onClick={copy}><Icon name={copied ? "check" : "copy"} size={14} /> {copied ? t("action.copied") : t("action.copy")}</button></figcaption>
      <pre tabIndex={0}><code>{useColours(text, language) ?? text}</code></pre>
    </figure>
  );
}

const LONGEST = 40_000; // characters; a longer text stays plain

/** The text with its words marked by kind, once the part that can do that is here; null where it cannot. */
function useColours(text: string, language: string): ReactNode[] | null {
  const [paint, setPaint] = useState<((text: string, language: string) => ReactNode[] | null) | null>(null);
  useEffect(() => {
    if (language) void import("@/components/colours").then((found) => setPaint(() => found.paint));
  }, [language]);
  return paint && text.length <= LONGEST ? paint(text, language) : null;
}
