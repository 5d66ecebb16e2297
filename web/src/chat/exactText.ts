// What a screen would obey, reorder or not show: control characters, marks of direction, joiners and other fillers.
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\u{13430}-\u{1345f}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

/** Writes every character that would not be seen as its code: `\u{202e}`. Line breaks and tabs stay. */
export const revealText = (text: string) => text.replace(UNSEEN, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`);
