/** The pages of a TIFF file, one below the other; those in view are drawn. Few browsers show such files themselves. */
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { decode, decodeImage, type IFD, toRGBA8 } from "utif2";
import { Skeleton } from "@/components/layout/Page";
import { MarkedText } from "../MarkedText";
import type { RendererProps } from "./registry";
import styles from "./renderers.module.css";
import { type ExifOrientation, orientationOf, swapsSides, uprightTransform } from "./tiffOrientation";
import { useIsNear } from "./useIsNear";

// Four bytes each while a page is decoded.
const MOST_PIXELS = 80_000_000;
const MOST_DRAWN_WIDTH = 2000;

interface TiffFile {
  bytes: ArrayBuffer;
  pages: readonly TiffPage[];
}

interface TiffPage {
  directory: IFD;
  width: number;
  height: number;
  orientation: ExifOrientation;
}

export function TiffOriginal({ file, onFailure }: RendererProps) {
  const [tiff, setTiff] = useState<TiffFile>();
  useEffect(() => {
    let isCurrent = true;
    readTiff(file).then(
      (read) => isCurrent && setTiff(read),
      () => isCurrent && onFailure(),
    );
    return () => {
      isCurrent = false;
    };
  }, [file, onFailure]);
  if (!tiff) return <Skeleton lines={12} />;
  return (
    <div className={styles.pages}>
      {tiff.pages.map((page, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a page is its number
        <TiffSheet key={index} bytes={tiff.bytes} page={page} number={index + 1} onFailure={onFailure} />
      ))}
    </div>
  );
}

async function readTiff(file: Blob): Promise<TiffFile> {
  const bytes = await file.arrayBuffer();
  const pages = decode(bytes).map((directory) => {
    const [width, height] = [sizeTag(directory, "t256"), sizeTag(directory, "t257")];
    if (!(width * height > 0 && width * height <= MOST_PIXELS)) throw new Error("a page without a size, or too large");
    return { directory, width, height, orientation: orientationOf(sizeTag(directory, "t274")) };
  });
  if (!pages.length) throw new Error("no pages");
  return { bytes, pages };
}

function sizeTag(directory: IFD, tag: "t256" | "t257" | "t274"): number {
  const value = directory[tag];
  return Number(Array.isArray(value) ? value[0] : 0);
}

interface TiffSheetProps {
  bytes: ArrayBuffer;
  page: TiffPage;
  number: number;
  onFailure: () => void;
}

function TiffSheet({ bytes, page, number, onFailure }: TiffSheetProps) {
  const { t } = useTranslation("documents");
  const root = useRef<HTMLElement>(null);
  const isNear = useIsNear(root);
  const isTurned = swapsSides(page.orientation);
  const [width, height] = isTurned ? [page.height, page.width] : [page.width, page.height];
  return (
    <section
      ref={root}
      className={styles.sheet}
      aria-label={t("pdf.page_number", { page: number })}
      style={{ aspectRatio: `${width} / ${height}`, maxWidth: width }}
    >
      {isNear && <Drawing bytes={bytes} page={page} number={number} onFailure={onFailure} />}
    </section>
  );
}

function Drawing({ bytes, page, number, onFailure }: TiffSheetProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [isDrawn, setIsDrawn] = useState(false);
  useEffect(() => {
    let isCurrent = true;
    (async () => {
      const picture = await decodePage(bytes, page);
      if (isCurrent && canvas.current) draw(canvas.current, picture, page.orientation);
      picture.close();
      if (isCurrent) setIsDrawn(true);
    })().catch(() => isCurrent && onFailure());
    return () => {
      isCurrent = false;
    };
  }, [bytes, page, onFailure]);
  return (
    <MarkedText version={isDrawn} page={number} hasBoxes={isDrawn} className={styles.drawing}>
      <canvas ref={canvas} />
    </MarkedText>
  );
}

/** The page's pixels as they lie in the file, no wider than is drawn. */
async function decodePage(bytes: ArrayBuffer, page: TiffPage): Promise<ImageBitmap> {
  // A copy, so that the pixels are not kept with the file's directories.
  const directory = { ...page.directory };
  decodeImage(bytes, directory);
  const pixels = new Uint8ClampedArray(toRGBA8(directory));
  const scale = Math.min(1, MOST_DRAWN_WIDTH / directory.width);
  return createImageBitmap(new ImageData(pixels, directory.width, directory.height), {
    resizeWidth: Math.ceil(directory.width * scale),
    resizeHeight: Math.ceil(directory.height * scale),
    resizeQuality: "high",
  });
}

function draw(canvas: HTMLCanvasElement, picture: ImageBitmap, orientation: ExifOrientation): void {
  const { width, height } = picture;
  [canvas.width, canvas.height] = swapsSides(orientation) ? [height, width] : [width, height];
  const context = canvas.getContext("2d");
  if (!context) throw new Error("no canvas");
  context.setTransform(...uprightTransform(orientation, width, height));
  context.drawImage(picture, 0, 0);
}
