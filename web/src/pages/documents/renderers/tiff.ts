/** A TIFF file in a worker, which is ended with an error when it takes too long. */
import type { TiffPage, TiffReply, TiffRequest } from "./tiffWorker";

// While a page is decoded, a pixel takes four bytes beside its own.
const MOST_PIXELS = 80_000_000;
const MOST_BITS = 8 * 400_000_000;
const MOST_MS = 30_000;

interface Waiting {
  resolve: (reply: TiffReply) => void;
  reject: (error: Error) => void;
}

export class TiffFile {
  pages: readonly TiffPage[] = [];
  readonly #worker = new Worker(new URL("./tiffWorker.ts", import.meta.url), { type: "module" });
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;

  private constructor() {
    this.#worker.onmessage = ({ data }: MessageEvent<TiffReply>) => this.#waiting.get(data.id)?.resolve(data);
    this.#worker.onerror = () => this.#fail("the worker failed");
  }

  /** Fails for a file that can't be read, or whose pages are too large. */
  static async open(file: Blob): Promise<TiffFile> {
    const tiff = new TiffFile();
    try {
      const reply = await tiff.#ask({ file });
      tiff.pages = "pages" in reply ? reply.pages : [];
      if (!tiff.pages.length) throw new Error("no pages");
      for (const { width, height, pixelBits } of tiff.pages) {
        const pixels = width * height;
        if (!(pixels > 0 && pixels <= MOST_PIXELS && pixels * pixelBits <= MOST_BITS))
          throw new Error("a page of no size, or too large");
      }
    } catch (error) {
      tiff.close();
      throw error;
    }
    return tiff;
  }

  /** A page's picture as it lies in the file; the index begins at 0. */
  async draw(page: number): Promise<ImageBitmap> {
    const reply = await this.#ask({ page });
    if (!("picture" in reply)) throw new Error("error" in reply ? reply.error : "no picture");
    return reply.picture;
  }

  close(): void {
    this.#fail("closed");
  }

  async #ask(question: { file: Blob } | { page: number }): Promise<TiffReply> {
    const request: TiffRequest = { id: ++this.#last, ...question };
    const timer = setTimeout(() => this.#fail("the file takes too long"), MOST_MS);
    try {
      return await new Promise<TiffReply>((resolve, reject) => {
        this.#waiting.set(request.id, { resolve, reject });
        this.#worker.postMessage(request);
      });
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(request.id);
    }
  }

  #fail(reason: string): void {
    this.#worker.terminate();
    for (const { reject } of this.#waiting.values()) reject(new Error(reason));
  }
}
