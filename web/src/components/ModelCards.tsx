export function ModelCards() {
  return null;
}
