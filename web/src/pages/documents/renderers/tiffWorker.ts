/** Worker that decodes a TIFF file: a large page takes seconds, and a damaged one may take for ever; `tiff.ts` ends it then. */
import { decodeImage, type IFD, toRGBA8 } from "utif2";
import { readDirectories } from "./tiffDirectories";
import { orientationOf } from "./tiffOrientation";

export interface TiffPage {
  /** Of the picture as it lies in the file, in pixels. */
  width: number;
  height: number;
  pixelBits: number;
  orientation: ReturnType<typeof orientationOf>;
}

export type TiffRequest = { id: number } & ({ file: Blob } | { page: number });
export type TiffReply = { id: number } & ({ pages: TiffPage[] } | { picture: ImageBitmap } | { error: string });

const MOST_DRAWN_WIDTH = 2000;

let bytes = new ArrayBuffer(0);
let directories: IFD[] = [];

async function open(file: Blob): Promise<TiffPage[]> {
  bytes = await file.arrayBuffer();
  directories = readDirectories(bytes);
  return directories.map((directory) => ({
    width: numberOf(directory, "t256"),
    height: numberOf(directory, "t257"),
    pixelBits: (numberOf(directory, "t258") || 1) * (numberOf(directory, "t277") || 1),
    orientation: orientationOf(numberOf(directory, "t274")),
  }));
}

function numberOf(directory: IFD, tag: "t256" | "t257" | "t258" | "t274" | "t277"): number {
  const value = directory[tag];
  return Number(Array.isArray(value) ? value[0] : 0);
}

/** A page as it lies in the file, no wider than is drawn. */
async function draw(page: number): Promise<ImageBitmap> {
  // A copy, so that the pixels are not kept with the file's directories.
  const directory = { ...directories[page] } as IFD;
  decodeImage(bytes, directory);
  const { width, height } = directory;
  const scale = Math.min(1, MOST_DRAWN_WIDTH / width);
  return createImageBitmap(new ImageData(new Uint8ClampedArray(toRGBA8(directory)), width, height), {
    resizeWidth: Math.ceil(width * scale),
    resizeHeight: Math.ceil(height * scale),
    resizeQuality: "high",
  });
}

self.onmessage = async ({ data: request }: MessageEvent<TiffRequest>) => {
  const { id } = request;
  const answer = (reply: TiffReply, transfer: Transferable[] = []) => self.postMessage(reply, { transfer });
  try {
    if ("file" in request) return answer({ id, pages: await open(request.file) });
    const picture = await draw(request.page);
    answer({ id, picture }, [picture]);
  } catch (error) {
    answer({ id, error: String(error) });
  }
};
