import type { Config } from "vega-lite";

/** The colours of all charts, on a light page and on a dark one: those of the other pictures of docs/. */
const colours = {
  page: ["#ffffff", "#1b1b1f"],
  text: ["#1b2026", "#f0f2f5"],
  note: ["#4a525b", "#c2c9d1"],
  grid: ["#e4e7eb", "#34373f"],
  ours: ["#1f5fbf", "#6ea8fe"],
  other: ["#9aa1a9", "#7d858e"],
  missed: ["#c2410c", "#fb923c"],
  target: ["#15803e", "#4ade81"],
} as const;

type ColourName = keyof typeof colours;

/** What a chart names; `withDarkColours` replaces each where the reader prefers a dark page. */
export const light = Object.fromEntries(
  Object.entries(colours).map(([name, [colour]]) => [name, colour]),
) as Readonly<Record<ColourName, string>>;

const font = "system-ui, sans-serif";

export const chartConfig: Config = {
  background: light.page,
  // The description of the whole names each figure once.
  aria: false,
  padding: 16,
  font,
  view: { stroke: null },
  title: {
    ...{ color: light.text, fontSize: 15, anchor: "start", frame: "bounds", offset: 14 },
    ...{ subtitleColor: light.note, subtitleFontSize: 12, subtitlePadding: 6 },
  },
  axis: {
    labelColor: light.note,
    labelFontSize: 12,
    labelLimit: 0,
    title: null,
    gridColor: light.grid,
    domain: false,
    ticks: false,
  },
  text: { color: light.note, fontSize: 12 },
};

/** The colours stand in attributes, over which a rule of a style sheet has precedence. */
export function withDarkColours(svg: string): string {
  const rules = Object.values(colours).flatMap(([colour, dark]) => [
    `[fill="${colour}"] { fill: ${dark}; }`,
    `[stroke="${colour}"] { stroke: ${dark}; }`,
  ]);
  const style = `<style>@media (prefers-color-scheme: dark) { ${rules.join(" ")} }</style>`;
  return svg.replace(/<svg[^>]*>/, (start) => `${start}${style}`);
}
