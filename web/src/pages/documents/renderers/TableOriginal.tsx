/** A CSV or TSV file as a table. */
import { useEffect, useMemo } from "react";
import { useTranslation } from "react-i18next";
import { TextTable } from "@/components/layout/TextTable";
import { parseRows } from "../csv";
import { MarkedText } from "../MarkedText";
import type { RendererProps } from "./registry";
import styles from "./renderers.module.css";
import { useText } from "./useText";

const MOST_CELLS = 20_000;

export function TableOriginal(props: RendererProps) {
  const { t } = useTranslation("documents");
  const { document, onFailure } = props;
  const text = useText(props);
  const table = useMemo(() => {
    if (text === undefined) return undefined;
    const [head = [], ...rows] = parseRows(text, document.media_type === "text/csv" ? undefined : "\t");
    return { head, rows };
  }, [text, document.media_type]);
  const isTooLarge = table !== undefined && (table.rows.length + 1) * table.head.length > MOST_CELLS;
  useEffect(() => {
    if (isTooLarge) onFailure();
  }, [isTooLarge, onFailure]);
  return (
    <MarkedText version={table} className={styles.table}>
      {table && !isTooLarge && <TextTable label={t("original.table")} head={table.head} rows={table.rows} />}
    </MarkedText>
  );
}
