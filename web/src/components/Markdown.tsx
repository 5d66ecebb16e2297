// Renders Markdown as React elements. HTML in it is shown as text, never interpreted.
import type { Token, Tokens } from "marked";
import { lazy, memo, type ReactNode, Suspense, useEffect, useId, useState } from "react";
import { copyText } from "@/components/clipboard";
import { FootnoteList, FootnotePrefix, FootnoteReference } from "@/components/Footnotes";
import { type FootnoteReferenceToken, numberFootnotes } from "@/components/footnotes";
import { Icon } from "@/components/Icon";
import { MathFormula } from "@/components/MathFormula";
import { type MathToken, parseMarkdown } from "@/components/markdownLexer";
import { useI18n } from "@/i18n";

const SAFE_LINK = /^(https?:|mailto:|#)/i;

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const tokens = parseMarkdown(text);
  const notes = numberFootnotes(tokens);
  return (
    <div className="prose">
      <FootnotePrefix.Provider value={useId()}>
        {renderBlocks(tokens)}
        <FootnoteList notes={notes} render={(note) => renderBlocks(note.tokens)} />
      </FootnotePrefix.Provider>
    </div>
  );
});

function renderBlocks(tokens: Token[]): ReactNode[] {
  return tokens.map((token, index) => <Block key={index} token={token} />);
}

function Block({ token }: { token: Token }): ReactNode {
  switch (token.type) {
    case "heading": {
      const Tag = `h${Math.min(6, (token as Tokens.Heading).depth + 2)}` as "h3";
      return <Tag>{renderInline(token.tokens)}</Tag>;
    }
    case "paragraph":
      return <p>{renderInline(token.tokens)}</p>;
    case "code":
      return <Code code={token as Tokens.Code} />;
    case "blockquote":
      return <blockquote>{renderBlocks(token.tokens ?? [])}</blockquote>;
    case "mathBlock":
      return <MathFormula tex={(token as unknown as MathToken).text} isBlock />;
    case "footnote":
      return null; // it stands below
    case "hr":
      return <hr />;
    case "list":
      return <List list={token as Tokens.List} />;
    case "table":
      return <Table table={token as Tokens.Table} />;
    case "space":
      return null;
    case "text":
      return token.tokens ? renderInline(token.tokens) : unescapeEntities((token as Tokens.Text).text);
    default:
      return <p>{token.raw}</p>; // HTML is shown as text
  }
}

function List({ list }: { list: Tokens.List }) {
  const items = list.items.map((item, index) => (
    <li key={index}>
      {item.task && <input type="checkbox" checked={item.checked ?? false} readOnly disabled />}
      {renderBlocks(item.tokens.filter((token) => (token.type as string) !== "checkbox"))}
    </li>
  ));
  return list.ordered ? <ol start={Number(list.start) || 1}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ table }: { table: Tokens.Table }) {
  return (
    <div className="scroll-x" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {table.header.map((cell, index) => (
              <th key={index} data-align={table.align[index] ?? undefined}>
                {renderInline(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, rowIndex) => (
            <tr key={rowIndex}>
              {row.map((cell, index) => (
                <td key={index} data-align={table.align[index] ?? undefined}>
                  {renderInline(cell.tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function renderInline(tokens: Token[] | undefined): ReactNode[] {
  return (tokens ?? []).map((token, index) => <Inline key={index} token={token} />);
}

function Inline({ token }: { token: Token }): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong>{renderInline(token.tokens)}</strong>;
    case "em":
      return <em>{renderInline(token.tokens)}</em>;
    case "del":
      return <del>{renderInline(token.tokens)}</del>;
    case "math":
      return <MathFormula tex={(token as unknown as MathToken).text} isBlock={false} />;
    case "footnoteReference":
      return <FootnoteReference reference={token as unknown as FootnoteReferenceToken} />;
    case "codespan":
      return <code>{unescapeEntities((token as Tokens.Codespan).text)}</code>;
    case "br":
      return <br />;
    case "link": {
      const link = token as Tokens.Link;
      return SAFE_LINK.test(link.href) ? (
        <a href={link.href} target="_blank" rel="noopener noreferrer">
          {renderInline(link.tokens)}
        </a>
      ) : (
        link.raw
      );
    }
    case "image":
      return <ImageLink image={token as Tokens.Image} />;
    case "escape":
      return <>{(token as Tokens.Escape).text}</>;
    case "text":
      return token.tokens ? renderInline(token.tokens) : unescapeEntities((token as Tokens.Text).text);
    default:
      return <>{token.raw}</>;
  }
}

const INLINE_PICTURE = /^data:image\/(?:png|jpeg|gif|webp);base64,[\w+/=]+$/;

/** A picture that the text itself holds. A remote one would reveal that the message was read, so it is a link. */
function ImageLink({ image }: { image: Tokens.Image }) {
  if (INLINE_PICTURE.test(image.href)) return <img className="inline-picture" src={image.href} alt={image.text} />;
  if (!SAFE_LINK.test(image.href)) return <>{image.raw}</>;
  return (
    <a className="image-link" href={image.href} target="_blank" rel="noopener noreferrer">
      <Icon name="image" size={15} /> {image.text || image.href}
    </a>
  );
}

const ENTITIES: Record<string, string> = { "&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"', "&#39;": "'" };
/** Undoes the lexer's escaping; React escapes by itself. */
const unescapeEntities = (text: string): string =>
  text.replace(/&(lt|gt|amp|quot|#39);/g, (whole) => ENTITIES[whole] ?? whole);

const Diagram = lazy(() => import("@/diagrams/Diagram"));

function Code({ code }: { code: Tokens.Code }) {
  const source = <CodeBlock text={code.text} language={code.lang ?? ""} />;
  if (code.lang !== "mermaid") return source;
  return (
    <Suspense fallback={source}>
      <Diagram text={code.text} source={source} />
    </Suspense>
  );
}

function CodeBlock({ text, language }: { text: string; language: string }) {
  const { t } = useI18n();
  const [copied, setCopied] = useState(false);
  const copy = () => {
    void copyText(text).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), 1500);
    });
  };
  return (
    <figure className="code-block">
      <figcaption>
        <span>{language}</span>{" "}
        <button className="ghost" onClick={copy}>
          <Icon name={copied ? "check" : "copy"} size={14} /> {copied ? t("action.copied") : t("action.copy")}
        </button>
      </figcaption>
      <pre tabIndex={0}>
        <code>{useHighlighted(text, language) ?? text}</code>
      </pre>
    </figure>
  );
}

const MAX_HIGHLIGHTED_CHARACTERS = 40_000;

/** The highlighted code; null while the highlighter loads and for unknown languages. */
function useHighlighted(text: string, language: string): ReactNode[] | null {
  const [highlight, setHighlight] = useState<((text: string, language: string) => ReactNode[] | null) | null>(null);
  useEffect(() => {
    if (language) void import("@/components/syntaxHighlight").then((module) => setHighlight(() => module.highlight));
  }, [language]);
  return highlight && text.length <= MAX_HIGHLIGHTED_CHARACTERS ? highlight(text, language) : null;
}
