import { Error as errorLevel, parse, View } from "vega";
import { compile, type TopLevelSpec } from "vega-lite";
import { chartConfig, light, withDarkColours } from "./chart-theme.ts";
import type { BenchCount, BenchRatio } from "./part.ts";
import { countResult, figureText, ratioResult, type TargetResult } from "./targets.ts";

/** A line of a chart: a heading, or a figure with its place on the axis. */
interface Line {
  /** The number of the line, for labels may be there twice, and the label. */
  readonly key: string;
  readonly value?: number;
  readonly low?: number;
  readonly high?: number;
  readonly target?: number;
  readonly colour?: string;
  readonly text?: string;
}

const width = 300;
const lineHeight = 24;

/** The labels without what orders and marks them; headings are bold. */
const lineAxis = {
  field: "key",
  type: "nominal" as const,
  sort: "ascending" as const,
  axis: {
    title: null,
    grid: false,
    labelPadding: 10,
    labelExpr: "slice(datum.value, 5)",
    labelFontWeight: {
      condition: { test: "slice(datum.value, 3, 5) == '# '", value: 700 as const },
      value: 400 as const,
    },
  },
};
const colour = { color: { field: "colour", type: "nominal" as const, scale: null } };
const target = {
  mark: { type: "tick" as const, thickness: 3, size: 18, color: light.target },
  encoding: place("target"),
};

/** Draws ratios as dots with their bounds, and beside them what each has to reach. */
export async function drawRatios(title: string, ratios: readonly BenchRatio[]): Promise<string> {
  const lines = linesOf(ratios, (one) => ({
    value: one.ratio,
    ...(Number.isFinite(one.high) && { low: one.low, high: one.high }),
    ...(one.target && { target: Object.values(one.target)[0] as number }),
    ...shown(ratioResult(one), light.ours),
  }));
  // A wide bound ends at the edge: it would make all others small.
  const domainMax =
    1.15 * Math.max(1, ...lines.flatMap((one) => [one.value ?? 0, one.target ?? 0]));
  const { x, y } = place("low");
  const scaled = { y, x: { ...x, scale: { domain: [0, domainMax], clamp: true } } };
  const legend = "Ours divided by the other: median and 95 % bounds. Green: the target.";
  return await draw({ title, lines, legend, description: describe(ratios.map(ratioResult)) }, [
    {
      data: { values: [{}] },
      mark: { type: "rule", color: light.note },
      encoding: { x: { datum: 1 } },
    },
    target,
    {
      mark: { type: "bar", height: 8, cornerRadius: 4, opacity: 0.4 },
      encoding: { ...scaled, x2: { field: "high" }, ...colour },
    },
    {
      mark: { type: "point", filled: true, size: 60, opacity: 1 },
      encoding: { ...place("value"), ...colour },
    },
  ]);
}

/** Draws counts of one unit as bars. */
export async function drawCounts(title: string, counts: readonly BenchCount[]): Promise<string> {
  const lines = linesOf(counts, (one) => ({
    value: one.value,
    ...(one.target && { target: one.target.atMost }),
    ...shown(
      { ...countResult(one), measured: figureText(one.value) },
      one.isOurs === false ? light.other : light.ours,
    ),
  }));
  const legend = `In ${counts[0]!.unit}. Blue: ours. Green: the target.`;
  const { x, y } = place("value");
  const whole = { y, x: { ...x, axis: { ...x.axis, tickMinStep: 1 } } };
  return await draw({ title, lines, legend, description: describe(counts.map(countResult)) }, [
    {
      mark: { type: "bar", height: 12, cornerRadiusEnd: 3 },
      encoding: { ...whole, ...colour },
    },
    target,
  ]);
}

interface Drawing {
  readonly title: string;
  readonly description: string;
  readonly lines: readonly Line[];
  readonly legend: string;
}

type Layers = Extract<TopLevelSpec, { layer: unknown }>["layer"];

async function draw(
  { title, description, lines, legend }: Drawing,
  marks: Layers,
): Promise<string> {
  const spec: TopLevelSpec = {
    data: { values: lines.map((line) => ({ text: "", ...line })) },
    title: { text: title, subtitle: legend },
    config: chartConfig,
    width,
    height: { step: lineHeight },
    layer: [
      ...marks,
      {
        mark: { type: "text", align: "left" },
        encoding: { y: lineAxis, x: { value: width + 14 }, text: { field: "text" } },
      },
    ],
    resolve: { axis: { x: "shared", y: "shared" } },
  };
  const view = new View(parse(compile(spec).spec), { renderer: "none", logLevel: errorLevel });
  const svg = withDarkColours(await view.toSVG());
  view.finalize();
  return named(svg, title, description);
}

/** For readers who do not see the chart. */
function named(svg: string, title: string, description: string): string {
  const texts = `<title id="title">${escape(title)}</title><desc id="text">${escape(description)}</desc>`;
  return svg
    .replace("<svg ", '<svg role="img" aria-labelledby="title text" ')
    .replace(/<svg[^>]*>/, (start) => `${start}${texts}`);
}

function describe(results: readonly TargetResult[]): string {
  return results
    .map(({ label, measured, limit }) => `${label}: ${measured}${limit ? `, target ${limit}` : ""}`)
    .join("; ");
}

function place(field: keyof Line) {
  return {
    y: lineAxis,
    x: { field, type: "quantitative" as const, axis: { format: "~g", grid: true } },
  };
}

/** What stands at the right, and the colour: a target that is not met has its own. */
function shown({ measured, limit, verdict }: TargetResult, colourWhenMet: string) {
  const beside = limit === undefined ? "" : `, ${limit}${verdict === "met" ? "" : `: ${verdict}`}`;
  return { text: `${measured}${beside}`, colour: verdict === "met" ? colourWhenMet : light.missed };
}

/** The figures in their order, under the headings of their groups. */
function linesOf<Figure extends { readonly label: string; readonly group?: string }>(
  figures: readonly Figure[],
  lineOf: (figure: Figure) => Omit<Line, "key">,
): Line[] {
  const lines: Line[] = [];
  const key = (mark: string, label: string) =>
    `${String(lines.length).padStart(3, "0")}${mark}${label}`;
  for (const [group, members] of Map.groupBy(figures, (one) => one.group)) {
    if (group !== undefined) lines.push({ key: key("# ", group) });
    for (const figure of members) {
      lines.push({ key: key("  ", figure.label), ...lineOf(figure) });
    }
  }
  return lines;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
