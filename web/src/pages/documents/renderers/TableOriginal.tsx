/** A CSV or TSV file as a table. */
import { memo, useEffect, useMemo } from "react";
import { useTranslation } from "react-i18next";
import { parseRows } from "../csv";
import { MarkedText } from "../MarkedText";
import type { RendererProps } from "./registry";
import styles from "./renderers.module.css";
import { useText } from "./useText";

const MOST_CELLS = 20_000;

export function TableOriginal(props: RendererProps) {
  const { document, onFailure } = props;
  const text = useText(props);
  const rows = useMemo(
    () => (text === undefined ? undefined : parseRows(text, document.media_type === "text/csv" ? undefined : "\t")),
    [text, document.media_type],
  );
  const isTooLarge = rows !== undefined && rows.length * (rows[0]?.length ?? 0) > MOST_CELLS;
  useEffect(() => {
    if (isTooLarge) onFailure();
  }, [isTooLarge, onFailure]);
  return (
    <MarkedText version={rows} className={styles.table}>
      {rows && !isTooLarge && <Rows rows={rows} />}
    </MarkedText>
  );
}

const Rows = memo(function Rows({ rows: [head = [], ...rows] }: { rows: string[][] }) {
  const { t } = useTranslation("documents");
  return (
    <table aria-label={t("original.table")}>
      <thead>
        <tr>
          {head.map((cell, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: cells have no other identity
            <th key={index} scope="col">
              {cell}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other identity
          <tr key={index}>
            {row.map((cell, column) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: cells have no other identity
              <td key={column}>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
});
