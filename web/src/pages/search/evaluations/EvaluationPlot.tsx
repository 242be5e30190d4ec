/** Recall and MRR over time, as lines; the table of measurements has the same figures as text. */
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { formatDateTime } from "@/i18n/format";
import styles from "./EvaluationPlot.module.css";
import type { Evaluation, Figure } from "./evaluationQueries";
import { formatFigure } from "./FigureChange";

/** Lines differ by colour and by their dashes. */
const LINES: readonly { name: Figure; token: string; dash: number[]; border: string }[] = [
  { name: "recall_5", token: "--accent", dash: [], border: "solid" },
  { name: "recall_10", token: "--info", dash: [8, 4], border: "dashed" },
  { name: "mrr_10", token: "--warning", dash: [2, 3], border: "dotted" },
];
const HEIGHT = 240;

/** Counts changes of the colours, so that the plot is drawn anew. */
function useColourChanges(): number {
  const [changes, setChanges] = useState(0);
  useEffect(() => {
    const change = () => setChanges((count) => count + 1);
    const observer = new MutationObserver(change);
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    const system = window.matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", change);
    return () => {
      observer.disconnect();
      system.removeEventListener("change", change);
    };
  }, []);
  return changes;
}

/** A token's colour as the canvas takes it: `light-dark()` is resolved by an element that has it. */
function colours(inside: HTMLElement): (token: string) => string {
  const probe = document.createElement("span");
  inside.append(probe);
  return (token) => {
    probe.style.color = `var(${token})`;
    return getComputedStyle(probe).color;
  };
}

/** No listener. */
const nothing = () => null;

export default function EvaluationPlot({ evaluations }: { evaluations: readonly Evaluation[] }) {
  const { t, i18n } = useTranslation("search");
  const box = useRef<HTMLDivElement>(null);
  const changes = useColourChanges();

  // biome-ignore lint/correctness/useExhaustiveDependencies: other colours or another language need another plot
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    element.replaceChildren();
    const colour = colours(element);
    const inOrder = [...evaluations].reverse();
    const axis = { stroke: colour("--ink-2"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        // By number, not by time: two measurements in a minute would lie on each other.
        scales: { x: { time: false, range: [0.5, inOrder.length + 0.5] }, y: { range: lowestShown(inOrder) } },
        // Away from the lines, the legend tells the newest figures.
        hooks: {
          setLegend: [
            ({ cursor, legend, setLegend }) => {
              if (cursor.idx == null && legend.idx == null) setLegend({ idx: inOrder.length - 1 }, false);
            },
          ],
          ready: [({ setLegend }) => setLegend({ idx: inOrder.length - 1 })],
        },
        // What presses would do, hide a line or zoom, the keyboard could not: the table has the same figures.
        cursor: { bind: { mousedown: nothing, dblclick: nothing, click: nothing } },
        legend: { markers: { width: 2, dash: (_, index) => LINES[index - 1]?.border ?? "solid" } },
        axes: [
          {
            ...axis,
            grid: { show: false },
            incrs: [1, 2, 5, 10, 20],
            values: (_, places) => places.map((place) => formatDay(inOrder[place - 1])),
          },
          { ...axis, values: (_, values) => values.map((value) => formatFigure(value)) },
        ],
        series: [
          {
            label: t("evaluation.time"),
            value: (_, value) => formatTime(inOrder[value - 1]),
          },
          ...LINES.map(({ name, token, dash }) => ({
            label: t(`figure.${name}`),
            stroke: colour(token),
            width: 2,
            dash,
            points: { show: true, size: 7, fill: colour("--surface") },
            value: (_: uPlot, value: number | null) => formatFigure(value ?? undefined),
          })),
        ],
      },
      [inOrder.map((_, index) => index + 1), ...LINES.map(({ name }) => inOrder.map(({ metrics }) => metrics[name]))],
      element,
    );
    const resize = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      plot.destroy();
    };
  }, [evaluations, changes, i18n.language]);
  return (
    <figure className={styles.figure}>
      <figcaption>{t("evaluation.plot")}</figcaption>
      <div ref={box} className={styles.plot} aria-hidden />
    </figure>
  );
}

function formatTime(evaluation: Evaluation | undefined): string {
  return evaluation ? formatDateTime(evaluation.created_at) : "–";
}

function formatDay(evaluation: Evaluation | undefined): string {
  if (!evaluation) return "";
  const format = new Intl.DateTimeFormat(document.documentElement.lang, { month: "short", day: "numeric" });
  return format.format(new Date(evaluation.created_at));
}

/** The scale ends at 1 and begins below the lowest figure, so that small changes are seen. */
function lowestShown(evaluations: readonly Evaluation[]): [number, number] {
  const values = evaluations.flatMap(({ metrics }) => LINES.map(({ name }) => metrics[name] ?? 1));
  return [Math.max(0, Math.floor(Math.min(...values) * 10 - 1) / 10), 1.02];
}
