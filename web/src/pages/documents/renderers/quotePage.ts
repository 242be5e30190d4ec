/** The page of a PDF on which quoted words stand: a passage may begin on one before it. */
import type { PDFDocumentProxy } from "pdfjs-dist";
import { useEffect, useState } from "react";
import { reduce } from "../alignment";
import { MORE_PAGES, useMarks } from "../MarkedText";

/** So much of a quote tells it apart; the rest may stand on the next page. */
const LETTERS = 40;

/** The page of the quoted words, else of their boxes or of the selected passage; null until that is known. */
export function useStartPage(pdf: PDFDocumentProxy): number | null {
  const { selected, quote, quotedBoxes } = useMarks();
  const first = selected?.page ?? null;
  const boxPage = quotedBoxes[0]?.page;
  const key = quote === null ? null : `${first} ${quote}`;
  const [found, setFound] = useState<{ key: string; page: number } | null>(null);
  useEffect(() => {
    if (key === null || quote === null || first === null) return;
    let isCurrent = true;
    findPage(pdf, first, quote).then(
      (page) => isCurrent && setFound({ key, page: page ?? boxPage ?? first }),
      // A damaged page: the passage's own is near enough.
      () => isCurrent && setFound({ key, page: first }),
    );
    return () => {
      isCurrent = false;
    };
  }, [pdf, first, quote, boxPage, key]);
  if (key === null) return first;
  return found?.key === key ? found.page : null;
}

async function findPage(pdf: PDFDocumentProxy, first: number, quote: string): Promise<number | null> {
  const needle = reduce(quote).text.slice(0, LETTERS);
  for (let number = first; number <= Math.min(first + MORE_PAGES, pdf.numPages); number++) {
    const { items } = await (await pdf.getPage(number)).getTextContent();
    const text = items.map((item) => ("str" in item ? item.str : "")).join(" ");
    if (reduce(text).text.includes(needle)) return number;
  }
  return null;
}
