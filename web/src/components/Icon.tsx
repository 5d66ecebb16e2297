// Stroke icons on a 24 × 24 grid, one path each.
const PATHS = {
  chat: "M21 12a8 8 0 0 1-8 8H4l2.3-3A8 8 0 1 1 21 12Z",
  list: "M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01",
  star: "m12 3 2.8 5.7 6.2.9-4.5 4.4 1.1 6.2L12 17.3l-5.6 2.9 1.1-6.2L3 9.6l6.2-.9L12 3Z",
  chart: "M4 20V4m0 16h16M8 16v-4m4 4V8m4 8v-6",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  bulb: "M9 18h6m-5 3h4M12 3a6 6 0 0 0-3.5 10.9c.6.5 1 1.2 1 2h5c0-.8.4-1.5 1-2A6 6 0 0 0 12 3Z",
  gear: "M12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6Zm7.4-3a7.4 7.4 0 0 0-.1-1.2l2-1.6-2-3.4-2.4 1a7.6 7.6 0 0 0-2-1.2L14.5 3h-5l-.4 2.6a7.6 7.6 0 0 0-2 1.2l-2.4-1-2 3.4 2 1.6a7.4 7.4 0 0 0 0 2.4l-2 1.6 2 3.4 2.4-1a7.6 7.6 0 0 0 2 1.2l.4 2.6h5l.4-2.6a7.6 7.6 0 0 0 2-1.2l2.4 1 2-3.4-2-1.6c.1-.4.1-.8.1-1.2Z",
  download: "M12 4v11m0 0 4-4m-4 4-4-4M4 20h16",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14Zm5-2 4 4",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM12 2v2m0 16v2M4.9 4.9l1.4 1.4m11.4 11.4 1.4 1.4M2 12h2m16 0h2M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4",
  moon: "M20 14.5A8 8 0 0 1 9.5 4 8 8 0 1 0 20 14.5Z",
  help: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Zm-2.5-11a2.5 2.5 0 1 1 3.6 2.2c-.7.4-1.1.9-1.1 1.8m0 3h.01",
  send: "M4 12 20 4l-5 16-3-7-8-1Z",
  stop: "M6 6h12v12H6z",
  clip: "m20 11-8.5 8.5a5 5 0 0 1-7-7L13 4a3.5 3.5 0 0 1 5 5l-8.5 8.5a2 2 0 0 1-3-3L14 7",
  pin: "M9 4h6l-1 6 4 4H6l4-4-1-6Zm3 10v6",
  box: "M4 8h16v12H4zM3 4h18v4H3zm7 8h4",
  trash: "M5 7h14m-9 0V4h4v3m3 0-1 13H8L7 7m3 4v6m4-6v6",
  pencil: "m4 20 1-4L16 5l3 3L8 19l-4 1Z",
  close: "M6 6l12 12M18 6 6 18",
  check: "m5 13 4 4L19 7",
  tool: "M14 7a4 4 0 0 1 5-4l-2.5 2.5 2 2L21 5a4 4 0 0 1-5.3 5.2L7 19l-2-2 8.8-8.7A4 4 0 0 1 14 7Z",
  arrow: "M5 12h14m0 0-5-5m5 5-5 5",
  share: "M12 15V4m0 0L8 8m4-4 4 4M5 13v7h14v-7",
  lock: "M6 11h12v9H6zM9 11V8a3 3 0 0 1 6 0v3",
  refresh: "M20 11a8 8 0 0 0-14.3-4L4 9m0-5v5h5m-5 4a8 8 0 0 0 14.3 4l1.7-2m0 5v-5h-5",
  tower: "M12 11a2 2 0 1 0 0-4 2 2 0 0 0 0 4Zm0 0v9m-3.5-7.5a5 5 0 0 1 0-7m7 0a5 5 0 0 1 0 7M6 15A9 9 0 0 1 6 3m12 0a9 9 0 0 1 0 12",
  plus: "M12 5v14M5 12h14",
  puzzle: "M9 4a2 2 0 1 1 4 0h5v5a2 2 0 1 1 0 4v6h-5a2 2 0 1 0-4 0H4v-5a2 2 0 1 0 0-4V4h5Z",
  wheel: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Zm0-6.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5Zm0 0V21m-2.4-9.7L3.6 9m10.8 2.3 6-2.3",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 20 }: { name: IconName; size?: number }) {
  return (
    <svg className="icon" width={size} height={size} viewBox="0 0 24 24" fill="none" stroke="currentColor" strokeWidth="1.8" strokeLinecap="round" strokeLinejoin="round" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
