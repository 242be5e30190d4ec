/** pdf.js, with its worker, character maps and fonts from this server. */
import { GlobalWorkerOptions, getDocument, type PDFDocumentLoadingTask, VerbosityLevel } from "pdfjs-dist";
import workerUrl from "pdfjs-dist/build/pdf.worker.min.mjs?url";

GlobalWorkerOptions.workerSrc = workerUrl;

const FILES = {
  cMapUrl: addresses(
    import.meta.glob<string>("/node_modules/pdfjs-dist/cmaps/*.bcmap", {
      query: "?url",
      import: "default",
      eager: true,
    }),
  ),
  standardFontDataUrl: addresses(
    import.meta.glob<string>("/node_modules/pdfjs-dist/standard_fonts/*.{pfb,ttf}", {
      query: "?url",
      import: "default",
      eager: true,
    }),
  ),
};

function addresses(files: Record<string, string>): Map<string, string> {
  return new Map(Object.entries(files).map(([path, url]) => [path.slice(path.lastIndexOf("/") + 1), url]));
}

/** Reads what pdf.js asks for by name: built files have other names. */
class AssetReader {
  async fetch({ kind, filename }: { kind: string; filename: string }): Promise<Uint8Array> {
    const url = kind === "cMapUrl" || kind === "standardFontDataUrl" ? FILES[kind].get(filename) : undefined;
    if (!url) throw new Error(`no ${kind} ${filename}`);
    const answer = await fetch(url);
    if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
    return new Uint8Array(await answer.arrayBuffer());
  }
}

/** No code of a file runs, nothing is compiled, and nothing is fetched but the assets above. */
export function openPdf(data: ArrayBuffer): PDFDocumentLoadingTask {
  return getDocument({
    data,
    BinaryDataFactory: AssetReader,
    cMapPacked: true,
    enableXfa: false,
    isEvalSupported: false,
    useWasm: false,
    // What is missing in a file is shown as well as it can be; the console's log is for faults of the console.
    verbosity: VerbosityLevel.ERRORS,
    useWorkerFetch: false,
  });
}
