/** A table of texts below a row of headings; none of its cells changes. */
import { memo } from "react";

export interface TextTableProps {
  label?: string;
  head: readonly string[];
  rows: readonly (readonly string[])[];
}

export const TextTable = memo(function TextTable({ label, head, rows }: TextTableProps) {
  return (
    <table aria-label={label}>
      <thead>
        <tr>
          {head.map((cell, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: cells have no other identity
            <th key={index} scope="col" dir="auto">
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
              <td key={column} dir="auto">
                {cell}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
});
