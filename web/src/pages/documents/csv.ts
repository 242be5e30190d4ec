/** Rows of a CSV or TSV text. */

/** The separator that the first line holds most of. */
export function separatorOf(text: string): string {
  const line = text.slice(0, 10_000).split(/\r?\n/, 1)[0] ?? "";
  const count = (sign: string) => line.split(sign).length;
  return [",", ";", "\t", "|"].reduce((a, b) => (count(b) > count(a) ? b : a));
}

export function parseRows(text: string, separator = separatorOf(text)): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const sign = text[at] as string;
    if (quoted) {
      if (sign !== '"') cell += sign;
      else if (text[at + 1] === '"') {
        cell += '"';
        at++;
      } else quoted = false;
    } else if (sign === '"' && !cell) quoted = true;
    else if (sign === separator || sign === "\n") {
      row.push(cell.endsWith("\r") ? cell.slice(0, -1) : cell);
      cell = "";
      if (sign === "\n") {
        rows.push(row);
        row = [];
      }
    } else cell += sign;
  }
  if (cell || row.length) rows.push([...row, cell.replace(/\r$/, "")]);
  return rows.filter((cells) => cells.some((value) => value.trim()));
}
