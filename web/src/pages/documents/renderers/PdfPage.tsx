/** One page of a PDF: its picture and, over it, its text. */
import { type PDFDocumentProxy, type PDFPageProxy, TextLayer } from "pdfjs-dist";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { MarkedText } from "../MarkedText";
import styles from "./pdf.module.css";
import { useIsNear } from "./useIsNear";

export interface PageSize {
  width: number;
  height: number;
}

const MOST_PIXELS = 16_000_000;

interface Props {
  pdf: PDFDocumentProxy;
  number: number;
  size: PageSize;
  scale: number;
}

export function PdfPage({ pdf, number, size, scale }: Props) {
  const { t } = useTranslation("documents");
  const root = useRef<HTMLDivElement>(null);
  const isNear = useIsNear(root);
  const [page, setPage] = useState<PDFPageProxy>();
  useEffect(() => {
    if (!isNear) return;
    let isCurrent = true;
    // A damaged page stays white.
    pdf.getPage(number).then(
      (loaded) => isCurrent && setPage(loaded),
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
  }, [pdf, number, isNear]);
  const own = page?.getViewport({ scale: 1 }) ?? size;
  return (
    <section
      ref={root}
      className={styles.sheet}
      aria-label={t("pdf.page_number", { page: number })}
      style={{ width: own.width * scale, height: own.height * scale }}
    >
      {page && isNear && <Drawing page={page} scale={scale} />}
    </section>
  );
}

function Drawing({ page, scale }: { page: PDFPageProxy; scale: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const layer = useRef<HTMLDivElement>(null);
  const [version, setVersion] = useState(0);
  useEffect(() => {
    if (!canvas.current) return;
    const viewport = page.getViewport({ scale });
    const area = viewport.width * viewport.height;
    const sharpness = Math.min(window.devicePixelRatio, Math.sqrt(MOST_PIXELS / area));
    canvas.current.width = Math.floor(viewport.width * sharpness);
    canvas.current.height = Math.floor(viewport.height * sharpness);
    const task = page.render({
      canvas: canvas.current,
      viewport,
      transform: [sharpness, 0, 0, sharpness, 0, 0],
    });
    task.promise.catch(() => undefined);
    return () => task.cancel();
  }, [page, scale]);
  useEffect(() => {
    const container = layer.current;
    if (!container) return;
    container.replaceChildren();
    container.style.setProperty("--total-scale-factor", String(scale));
    const text = new TextLayer({
      textContentSource: page.streamTextContent(),
      container,
      viewport: page.getViewport({ scale }),
    });
    let isCurrent = true;
    const end = () => isCurrent && setVersion((before) => before + 1);
    // Without its text a page may still have boxes.
    text.render().then(end, end);
    return () => {
      isCurrent = false;
      text.cancel();
    };
  }, [page, scale]);
  return (
    <>
      <canvas ref={canvas} className={styles.canvas} />
      <MarkedText version={version} page={page.pageNumber} hasBoxes={version > 0} className={styles.marked}>
        {/* pdf.js measures letters in no language; another one may have letters of another width. */}
        <div ref={layer} lang="" className={styles.textLayer} />
      </MarkedText>
    </>
  );
}
