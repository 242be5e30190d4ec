/** Stacked bars of what was spent on each day, one colour for each model. */
import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { currentLanguage } from "@/i18n";
import { formatNumber } from "@/i18n/format";
import styles from "./UsagePlot.module.css";
import { OTHERS, type Series, stacked } from "./usageSeries";

const HEIGHT = 240;
const COLOURS = [styles.c0, styles.c1, styles.c2, styles.c3, styles.c4] as const;

/** The colours of classes as a canvas takes them. */
function resolveColours(host: HTMLElement): (name: string | undefined) => string {
  const probe = host.appendChild(document.createElement("span"));
  return (name) => {
    probe.className = name ?? "";
    return getComputedStyle(probe).color;
  };
}

function draw(host: HTMLElement, days: readonly string[], series: readonly Series[]): uPlot {
  host.replaceChildren();
  const colour = resolveColours(host);
  const axis = { stroke: colour(styles.axis), grid: { stroke: colour(styles.grid), width: 1 } };
  const day = new Intl.DateTimeFormat(currentLanguage() === "zh" ? "zh-CN" : "en", {
    month: "short",
    day: "numeric",
    timeZone: "UTC",
  });
  const bars = uPlot.paths.bars?.({ size: [0.7, 40], align: 0 });
  const heights = stacked(series);
  // The highest stack is drawn first, so that those below it cover its foot.
  const order = series.map((_, index) => index).reverse();
  return new uPlot(
    {
      width: host.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { show: false },
      scales: {
        x: { time: false, range: () => [-0.6, days.length - 0.4] },
        y: { range: (_, __, max) => [0, max || 1] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          incrs: [1, 2, 5, 10, 20, 50, 100],
          space: 60,
          values: (_, places) => places.map((place) => (days[place] ? day.format(new Date(days[place])) : "")),
        },
        {
          ...axis,
          size: 60,
          values: (_, values) => values.map((value) => formatNumber(value, { notation: "compact" })),
        },
      ],
      series: [
        {},
        ...order.map((index) => {
          const fill = colour(COLOURS[index]);
          return { fill, stroke: fill, width: 0, points: { show: false }, ...(bars && { paths: bars }) };
        }),
      ],
    },
    [days.map((_, index) => index), ...order.map((index) => heights[index] ?? [])],
    host,
  );
}

export function UsagePlot({
  days,
  series,
  label,
}: {
  days: readonly string[];
  series: readonly Series[];
  label: string;
}) {
  const { t } = useTranslation("connections");
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    let plot = draw(element, days, series);
    const redraw = () => {
      plot.destroy();
      plot = draw(element, days, series);
    };
    const sizes = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    sizes.observe(element);
    const themes = new MutationObserver(redraw);
    themes.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    const scheme = window.matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", redraw);
    return () => {
      sizes.disconnect();
      themes.disconnect();
      scheme.removeEventListener("change", redraw);
      plot.destroy();
    };
  }, [days, series]);
  return (
    <figure>
      <div ref={host} role="img" aria-label={label} className={styles.plot} />
      <ul className={styles.legend}>
        {series.map(({ id, name }, index) => (
          <li key={id}>
            <span className={`${styles.swatch} ${COLOURS[index]}`} aria-hidden />
            {id === OTHERS ? t("usage.others") : name}
          </li>
        ))}
      </ul>
    </figure>
  );
}
