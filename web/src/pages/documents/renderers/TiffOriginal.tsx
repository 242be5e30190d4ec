/** The pages of a TIFF file, one below the other; those in view are drawn. Few browsers show such files themselves. */
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { Skeleton } from "@/components/layout/Page";
import { MarkedText } from "../MarkedText";
import type { RendererProps } from "./registry";
import styles from "./renderers.module.css";
import { TiffFile } from "./tiff";
import { swapsSides, uprightTransform } from "./tiffOrientation";
import type { TiffPage } from "./tiffWorker";
import { useIsNear } from "./useIsNear";

export function TiffOriginal({ file, onFailure }: RendererProps) {
  const tiff = useTiff(file, onFailure);
  if (!tiff) return <Skeleton lines={12} />;
  return (
    <div className={styles.pages}>
      {tiff.pages.map((page, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a page is its number
        <TiffSheet key={index} tiff={tiff} page={page} index={index} onFailure={onFailure} />
      ))}
    </div>
  );
}

function useTiff(file: Blob, onFailure: () => void): TiffFile | undefined {
  const [tiff, setTiff] = useState<TiffFile>();
  useEffect(() => {
    let isCurrent = true;
    let opened: TiffFile | undefined;
    TiffFile.open(file).then(
      (read) => {
        opened = read;
        if (isCurrent) setTiff(read);
        else read.close();
      },
      () => isCurrent && onFailure(),
    );
    return () => {
      isCurrent = false;
      opened?.close();
    };
  }, [file, onFailure]);
  return tiff;
}

interface TiffSheetProps {
  tiff: TiffFile;
  page: TiffPage;
  index: number;
  onFailure: () => void;
}

function TiffSheet({ tiff, page, index, onFailure }: TiffSheetProps) {
  const { t } = useTranslation("documents");
  const root = useRef<HTMLElement>(null);
  const isNear = useIsNear(root);
  const [width, height] = swapsSides(page.orientation) ? [page.height, page.width] : [page.width, page.height];
  return (
    <section
      ref={root}
      className={styles.sheet}
      aria-label={t("pdf.page_number", { page: index + 1 })}
      style={{ aspectRatio: `${width} / ${height}`, maxWidth: width }}
    >
      {isNear && <TiffDrawing tiff={tiff} page={page} index={index} onFailure={onFailure} />}
    </section>
  );
}

function TiffDrawing({ tiff, page, index, onFailure }: TiffSheetProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [isDrawn, setIsDrawn] = useState(false);
  useEffect(() => {
    let isCurrent = true;
    (async () => {
      const picture = await tiff.draw(index);
      if (isCurrent && canvas.current) {
        drawUpright(canvas.current, picture, page);
        setIsDrawn(true);
      }
      picture.close();
    })().catch(() => isCurrent && onFailure());
    return () => {
      isCurrent = false;
    };
  }, [tiff, index, page, onFailure]);
  return (
    <MarkedText version={isDrawn} page={index + 1} hasBoxes={isDrawn} className={styles.drawing}>
      <canvas ref={canvas} />
    </MarkedText>
  );
}

function drawUpright(canvas: HTMLCanvasElement, picture: ImageBitmap, { orientation }: TiffPage): void {
  const { width, height } = picture;
  [canvas.width, canvas.height] = swapsSides(orientation) ? [height, width] : [width, height];
  const context = canvas.getContext("2d");
  if (!context) throw new Error("no canvas");
  context.setTransform(...uprightTransform(orientation, width, height));
  context.drawImage(picture, 0, 0);
}
