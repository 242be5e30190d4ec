/** By how much a figure rose or fell, by sign and colour. */
import { formatNumber } from "@/i18n/format";
import styles from "./FigureChange.module.css";

export function FigureChange({ by, muted, title }: { by: number | undefined; muted?: boolean; title?: string }) {
  if (by === undefined || Math.abs(by) < 0.0005) return null;
  const tone = muted ? styles.muted : by > 0 ? styles.better : styles.worse;
  return (
    <span className={tone} title={title}>
      {formatNumber(by, { signDisplay: "always", maximumFractionDigits: 3 })}
    </span>
  );
}

export function formatFigure(value: number | undefined): string {
  return value === undefined ? "–" : formatNumber(value, { minimumFractionDigits: 2, maximumFractionDigits: 3 });
}
