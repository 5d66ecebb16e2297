import css from "./DiffText.module.css";

const isDiff = (text: string) => /^@@ |^--- |^\+\+\+ /m.test(text);

/** The exact text of what will run. Of a difference between files, what goes is red and what comes is green. */
export function DiffText({ text }: { text: string }) {
  if (!isDiff(text))
    return (
      <pre className={css.exactText} tabIndex={0}>
        {text}
      </pre>
    );
  return (
    <pre className={css.exactText} tabIndex={0}>
      {text.split("\n").map((line, index) => (
        <span key={index} className={getLineClass(line)}>
          {`${line}\n`}
        </span>
      ))}
    </pre>
  );
}

function getLineClass(line: string): string | undefined {
  if (line.startsWith("@@") || line.startsWith("+++") || line.startsWith("---")) return css.diffHead;
  if (line.startsWith("+")) return css.diffAdded;
  return line.startsWith("-") ? css.diffRemoved : undefined;
}
