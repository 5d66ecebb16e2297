/** Copies a text, also on a plain HTTP address, where the browser has no clipboard of its own. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const box = document.createElement("textarea");
  box.value = text;
  box.className = "visually-hidden";
  document.body.append(box);
  box.select();
  document.execCommand("copy");
  box.remove();
}
