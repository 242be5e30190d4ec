/** Paragraphs and tables of a passage's text. */
import { blocksOf } from "../passages";
import styles from "./renderers.module.css";

export function Blocks({ text }: { text: string }) {
  return blocksOf(text).map((block, index) =>
    block.kind === "text" ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: blocks have no other identity
      <p key={index} className={styles.paragraph}>
        {block.text}
      </p>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: blocks have no other identity
      <BlockTable key={index} rows={block.rows} />
    ),
  );
}

function BlockTable({ rows }: { rows: string[][] }) {
  return (
    <div className={styles.tableFrame}>
      <table>
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
    </div>
  );
}
