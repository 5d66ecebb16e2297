/** A word nobody used before. `crypto.randomUUID` is only there on secure addresses; this is everywhere. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
