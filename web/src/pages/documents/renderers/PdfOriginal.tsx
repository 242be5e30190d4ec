/** The pages of a PDF, one below the other; those in view are drawn. */
import { ChevronLeft, ChevronRight, ZoomIn, ZoomOut } from "lucide-react";
import type { PDFDocumentProxy } from "pdfjs-dist";
import { useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { IconButton } from "@/components/Button";
import { Skeleton } from "@/components/layout/Page";
import { formatPercent } from "@/i18n/format";
import { MarksContext, revealKey, useMarks } from "../MarkedText";
import { type PageSize, PdfPage } from "./PdfPage";
import { openPdf } from "./pdf";
import styles from "./pdf.module.css";
import { useStartPage } from "./quotePage";
import type { RendererProps } from "./registry";

const ZOOMS = [0.5, 0.75, 1, 1.25, 1.5, 2, 3];

export function PdfOriginal({ file, onFailure }: RendererProps) {
  const pdf = usePdf(file, onFailure);
  return pdf ? <PdfPages pdf={pdf.document} size={pdf.size} /> : <Skeleton lines={12} />;
}

interface OpenPdf {
  document: PDFDocumentProxy;
  /** Of the first page, at a zoom of 1: the others are taken to be as large until they are drawn. */
  size: PageSize;
}

function usePdf(file: Blob, onFailure: () => void): OpenPdf | undefined {
  const [pdf, setPdf] = useState<OpenPdf>();
  useEffect(() => {
    let isCurrent = true;
    let close = () => {};
    (async () => {
      const data = await file.arrayBuffer();
      if (!isCurrent) return;
      const task = openPdf(data);
      close = () => void task.destroy();
      const document = await task.promise;
      const { width, height } = (await document.getPage(1)).getViewport({ scale: 1 });
      if (isCurrent) setPdf({ document, size: { width, height } });
    })().catch(() => isCurrent && onFailure());
    return () => {
      isCurrent = false;
      close();
    };
  }, [file, onFailure]);
  return pdf;
}

function PdfPages({ pdf, size }: { pdf: PDFDocumentProxy; size: PageSize }) {
  const frame = useRef<HTMLDivElement>(null);
  const marks = useMarks();
  const { selected, revealed, visit, page: markedPage, quote, onQuotePage } = marks;
  const startPage = useStartPage(pdf);
  const [zoom, setZoom] = useState(1);
  const scale = useFittingScale(frame, size.width) * zoom;
  const [page, goTo] = useCurrentPage(frame, scale);
  // The text is brought into view when it is drawn; the page it is on must be first.
  useEffect(() => {
    if (scale && selected && startPage && revealed.current !== revealKey(selected, visit)) goTo(startPage);
  }, [scale, selected, startPage, revealed, visit, goTo]);
  useEffect(() => {
    if (quote !== null && startPage) onQuotePage?.(startPage);
  }, [quote, startPage, onQuotePage]);
  const isLaidOut = scale > 0;
  useEffect(() => {
    if (isLaidOut && markedPage && revealed.current === null) goTo(markedPage);
  }, [isLaidOut, markedPage, revealed, goTo]);
  return (
    <div className={styles.viewer}>
      <PdfBar page={page} pages={pdf.numPages} zoom={zoom} onPage={goTo} onZoom={setZoom} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <div ref={frame} className={styles.frame} data-scroll tabIndex={0}>
        <MarksContext value={useMemo(() => ({ ...marks, startPage }), [marks, startPage])}>
          {scale > 0 &&
            Array.from({ length: pdf.numPages }, (_, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a page is its number
              <PdfPage key={index} pdf={pdf} number={index + 1} size={size} scale={scale} />
            ))}
        </MarksContext>
      </div>
    </div>
  );
}

/** The scale at which a page is as wide as the frame; 0 until that is known. */
function useFittingScale(frame: React.RefObject<HTMLDivElement | null>, width: number): number {
  const [scale, setScale] = useState(0);
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const observer = new ResizeObserver(([entry]) => {
      const room = (entry?.contentRect.width ?? 0) - 2;
      if (room > 50) setScale(Math.min(room / width, 2));
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [frame, width]);
  return scale;
}

function useCurrentPage(
  frame: React.RefObject<HTMLDivElement | null>,
  scale: number,
): [number, (page: number) => void] {
  const [page, setPage] = useState(1);
  const current = useRef(1);
  const goTo = useRef((number: number) => {
    const element = frame.current?.children[number - 1];
    if (!(element instanceof HTMLElement) || !frame.current) return;
    frame.current.scrollTop = element.offsetTop - frame.current.offsetTop;
  }).current;
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    function follow() {
      if (!element) return;
      const middle = element.scrollTop + element.offsetTop + element.clientHeight / 3;
      const pages = [...element.children] as HTMLElement[];
      const index = pages.findLastIndex((child) => child.offsetTop <= middle);
      current.current = Math.max(1, index + 1);
      setPage(current.current);
    }
    element.addEventListener("scroll", follow, { passive: true });
    return () => element.removeEventListener("scroll", follow);
  }, [frame]);
  // At another zoom the same page stays in view.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a change of the scale moves the pages
  useEffect(() => goTo(current.current), [scale, goTo]);
  return [page, goTo];
}

interface BarProps {
  page: number;
  pages: number;
  zoom: number;
  onPage: (page: number) => void;
  onZoom: (zoom: number) => void;
}

function PdfBar({ page, pages, zoom, onPage, onZoom }: BarProps) {
  const { t } = useTranslation("documents");
  const step = ZOOMS.indexOf(zoom);
  return (
    <div className={styles.bar} role="toolbar" aria-label={t("pdf.toolbar")}>
      <IconButton
        size="s"
        icon={ChevronLeft}
        label={t("pdf.previous")}
        disabled={page <= 1}
        onClick={() => onPage(page - 1)}
      />
      <span className={styles.page}>
        <PageInput key={page} page={page} pages={pages} onPage={onPage} />
        <span>{t("pdf.of", { pages })}</span>
      </span>
      <IconButton
        size="s"
        icon={ChevronRight}
        label={t("pdf.next")}
        disabled={page >= pages}
        onClick={() => onPage(page + 1)}
      />
      <span className={styles.gap} />
      <IconButton
        size="s"
        icon={ZoomOut}
        label={t("pdf.zoom_out")}
        disabled={step <= 0}
        onClick={() => onZoom(ZOOMS[step - 1] ?? zoom)}
      />
      <span className={styles.zoom}>{formatPercent(zoom)}</span>
      <IconButton
        size="s"
        icon={ZoomIn}
        label={t("pdf.zoom_in")}
        disabled={step >= ZOOMS.length - 1}
        onClick={() => onZoom(ZOOMS[step + 1] ?? zoom)}
      />
    </div>
  );
}

function PageInput({ page, pages, onPage }: Pick<BarProps, "page" | "pages" | "onPage">) {
  const { t } = useTranslation("documents");
  const [value, setValue] = useState(String(page));
  function go() {
    const number = Number.parseInt(value, 10);
    if (number >= 1 && number <= pages) onPage(number);
    else setValue(String(page));
  }
  return (
    <input
      aria-label={t("pdf.page")}
      inputMode="numeric"
      value={value}
      onChange={(event) => setValue(event.target.value)}
      onBlur={go}
      onKeyDown={(event) => event.key === "Enter" && go()}
    />
  );
}
