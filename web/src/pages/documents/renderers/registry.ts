/** Which formats are shown as they are; all others are shown by the text that was read of them. */
import { type ComponentType, lazy } from "react";
import type { DocumentAnswer } from "../queries";

export interface RendererProps {
  document: DocumentAnswer;
  file: Blob;
  /** Called when the file can't be shown: its passages are shown instead. */
  onFailure: () => void;
}

export interface Renderer {
  component: ComponentType<RendererProps>;
  /** Larger files are shown by their passages. */
  maxBytes: number;
}

const MIB = 2 ** 20;

const markdown: Renderer = {
  component: lazy(async () => ({ default: (await import("./MarkdownOriginal")).MarkdownOriginal })),
  maxBytes: MIB / 2,
};
const text: Renderer = {
  component: lazy(async () => ({ default: (await import("./TextOriginal")).TextOriginal })),
  maxBytes: 2 * MIB,
};
const table: Renderer = {
  component: lazy(async () => ({ default: (await import("./TableOriginal")).TableOriginal })),
  maxBytes: MIB / 2,
};
const pdf: Renderer = {
  component: lazy(async () => ({ default: (await import("./PdfOriginal")).PdfOriginal })),
  maxBytes: 200 * MIB,
};
const image: Renderer = {
  component: lazy(async () => ({ default: (await import("./ImageOriginal")).ImageOriginal })),
  maxBytes: 50 * MIB,
};
const tiff: Renderer = {
  component: lazy(async () => ({ default: (await import("./TiffOriginal")).TiffOriginal })),
  maxBytes: 50 * MIB,
};

const RENDERERS: Partial<Record<string, Renderer>> = {
  "application/pdf": pdf,
  "text/markdown": markdown,
  "text/csv": table,
  "text/tab-separated-values": table,
  "image/png": image,
  "image/jpeg": image,
  "image/webp": image,
  "image/bmp": image,
  "image/avif": image,
  // By Safari; elsewhere its passages are shown.
  "image/heic": image,
  "image/tiff": tiff,
  "text/plain": text,
  "text/x-source": text,
  "application/json": text,
  "application/jsonl": text,
  "application/xml": text,
  "application/x-tex": text,
  "application/x-bibtex": text,
  "application/x-subrip": text,
  "text/vtt": text,
  "text/calendar": text,
  "text/vcard": text,
  "text/x-gettext-translation": text,
};

/** The renderer of a document's file; null where its passages are shown. */
export function rendererOf(document: DocumentAnswer): Renderer | null {
  const renderer = RENDERERS[document.media_type];
  return renderer && document.file_size <= renderer.maxBytes ? renderer : null;
}
