/** A passage's way to its place: both legs, fusion, rerank; and of what its score consists. */
import { ArrowDown, ArrowRight, ArrowUp, Equal } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Disclosure } from "@/components/overlays/Disclosure";
import { formatNumber } from "@/i18n/format";
import styles from "./ScorePath.module.css";
import { type Legs, type Places, type ScorePart, scoreParts, type Weights } from "./scoreParts";

export interface ScorePathProps {
  legs: Legs;
  weights: Weights;
  score: number;
  places: Places | undefined;
}

export function ScorePath({ legs, weights, score, places }: ScorePathProps) {
  const { t } = useTranslation("search");
  const parts = scoreParts(legs, weights);
  return (
    <div className={styles.path}>
      <ol className={styles.stations} aria-label={t("path.label")}>
        <Leg name="dense" place={legs.dense} />
        <Leg name="sparse" place={legs.sparse} />
        <li className={styles.station}>
          <ArrowRight size={14} aria-hidden className={styles.arrow} />
          <span className={styles.name}>{t("path.fused")}</span>
          <span className={styles.rank}>{places ? t("path.rank", { rank: places.fused }) : null}</span>
          <span className={styles.number}>{precise(legs.fused)}</span>
        </li>
        <li className={styles.station}>
          <ArrowRight size={14} aria-hidden className={styles.arrow} />
          <span className={styles.name}>{t("path.final")}</span>
          <span className={styles.rank}>{places ? t("path.rank", { rank: places.final }) : null}</span>
          <span className={styles.number}>{precise(score)}</span>
          {places && <RankChange by={places.fused - places.final} />}
        </li>
      </ol>
      <ScoreBar parts={parts} score={score} />
      <Disclosure plain title={t("path.numbers")}>
        <ScoreTable legs={legs} parts={parts} score={score} />
      </Disclosure>
    </div>
  );
}

function Leg({ name, place }: { name: "dense" | "sparse"; place: Legs["dense"] }) {
  const { t } = useTranslation("search");
  return (
    <li className={styles.station}>
      <span className={`${styles.swatch} ${styles[name]}`} aria-hidden />
      <span className={styles.name}>{t(`part.${name}`)}</span>
      {place ? (
        <>
          <span className={styles.rank}>{t("path.rank", { rank: place.rank })}</span>
          <span className={styles.number}>{precise(place.score)}</span>
        </>
      ) : (
        <span className={styles.absent}>{t("path.absent")}</span>
      )}
    </li>
  );
}

function RankChange({ by }: { by: number }) {
  const { t } = useTranslation("search");
  const Icon = by > 0 ? ArrowUp : by < 0 ? ArrowDown : Equal;
  const words = by === 0 ? t("path.unmoved") : t(by > 0 ? "path.up" : "path.down", { count: Math.abs(by) });
  return (
    <span className={by > 0 ? styles.up : by < 0 ? styles.down : styles.unmoved} title={words}>
      <Icon size={13} aria-hidden />
      <span aria-hidden>{by === 0 ? null : Math.abs(by)}</span>
      <span className="visually-hidden">{words}</span>
    </span>
  );
}

function ScoreBar({ parts, score }: { parts: readonly ScorePart[]; score: number }) {
  const { t } = useTranslation("search");
  const words = parts.map(({ name, share }) => `${t(`part.${name}`)} ${precise(share)}`).join(", ");
  return (
    <div className={styles.bar}>
      <div className={styles.track} role="img" aria-label={t("path.consists", { score: precise(score), parts: words })}>
        {parts.map(({ name, share }) => (
          <span
            key={name}
            className={`${styles.part} ${styles[name]}`}
            style={{ width: `${share * 100}%` }}
            title={`${t(`part.${name}`)} ${precise(share)}`}
          />
        ))}
      </div>
      <ul className={styles.legend} aria-hidden>
        {parts.map(({ name, share }) => (
          <li key={name}>
            <span className={`${styles.swatch} ${styles[name]}`} />
            {t(`part.${name}`)} {precise(share)}
          </li>
        ))}
      </ul>
    </div>
  );
}

function ScoreTable({ legs, parts, score }: { legs: Legs; parts: readonly ScorePart[]; score: number }) {
  const { t } = useTranslation("search");
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className={styles.frame} aria-label={t("path.numbers")} tabIndex={0}>
      <table className={styles.table}>
        <thead>
          <tr>
            {(["part", "rank", "raw", "scaled", "weight", "share"] as const).map((name) => (
              <th key={name} scope="col">
                {t(`path.column.${name}`)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {parts.map(({ name, value, weight, share }) => {
            const leg = name === "dense" || name === "sparse" ? legs[name] : null;
            return (
              <tr key={name}>
                <th scope="row">{t(`part.${name}`)}</th>
                <td>{leg ? leg.rank : "–"}</td>
                <td>{leg ? precise(leg.score) : "–"}</td>
                <td>{precise(value)}</td>
                <td>{formatNumber(weight, { maximumFractionDigits: 2 })}</td>
                <td>{precise(share)}</td>
              </tr>
            );
          })}
          <tr>
            <th scope="row">{t("path.score")}</th>
            <td colSpan={4} />
            <td>{precise(score)}</td>
          </tr>
        </tbody>
      </table>
      <p className={styles.note}>{t("path.note")}</p>
    </section>
  );
}

export function precise(value: number): string {
  const digits = value >= 10 ? 2 : 3;
  return formatNumber(value, { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
