/** A plain text whose pieces between backticks are code. */
export function InlineCode({ text }: { text: string }) {
  const pieces = text.split("`");
  if (pieces.length % 2 === 0) return <>{text}</>; // a backtick without a second one is only a character
  return <>{pieces.map((piece, index) => (index % 2 ? <code key={index}>{piece}</code> : piece))}</>;
}
