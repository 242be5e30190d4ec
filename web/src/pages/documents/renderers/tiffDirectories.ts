/**
 * Directories of the pages of a TIFF file (TIFF 6.0, section 2), in the form from which utif2 decodes. Its own reader follows a
 * directory that leads back to itself for ever, and believes any number of values.
 */
import type { IFD } from "utif2";

const MOST_PAGES = 5000;
const VERSION = 42;
const ENTRY_BYTES = 12;
// Bytes of a value, by type; no text, fractions or numbers with a point, which no picture's layout needs.
const VALUE_BYTES: Partial<Record<number, number>> = { 1: 1, 3: 2, 4: 4, 6: 1, 7: 1, 8: 2, 9: 4 };
const BYTE = 1;
const OPAQUE = 7;

/** Fails for a file that is no TIFF, and for one whose directories never end; values outside of the file are left out. */
export function readDirectories(bytes: ArrayBuffer): IFD[] {
  const view = new DataView(bytes);
  const order = view.getUint16(0);
  const isLittle = order === 0x4949;
  if ((!isLittle && order !== 0x4d4d) || view.getUint16(2, isLittle) !== VERSION) throw new Error("no TIFF file");
  const directories: IFD[] = [];
  const seen = new Set<number>();
  for (let at = view.getUint32(4, isLittle); at; ) {
    if (seen.has(at) || seen.size >= MOST_PAGES) throw new Error("its pages never end");
    seen.add(at);
    const count = view.getUint16(at, isLittle);
    const next = at + 2 + count * ENTRY_BYTES;
    directories.push(readDirectory(view, at + 2, count, isLittle));
    at = view.getUint32(next, isLittle);
  }
  return directories;
}

function readDirectory(view: DataView, start: number, count: number, isLittle: boolean): IFD {
  const directory: Record<string, number[] | Uint8Array> = {};
  for (let at = start; at < start + count * ENTRY_BYTES; at += ENTRY_BYTES) {
    const values = readValues(view, at, isLittle);
    if (values?.length) directory[`t${view.getUint16(at, isLittle)}`] = values;
  }
  return directory as unknown as IFD;
}

function readValues(view: DataView, entry: number, isLittle: boolean): number[] | Uint8Array | null {
  const type = view.getUint16(entry + 2, isLittle);
  const count = view.getUint32(entry + 4, isLittle);
  const size = VALUE_BYTES[type];
  if (!size) return null;
  const start = size * count <= 4 ? entry + 8 : view.getUint32(entry + 8, isLittle);
  if (start + size * count > view.byteLength) return null;
  if (type === BYTE || type === OPAQUE) return new Uint8Array(view.buffer, start, count);
  return Array.from({ length: count }, (_, index) => readNumber(view, start + index * size, type, isLittle));
}

function readNumber(view: DataView, at: number, type: number, isLittle: boolean): number {
  switch (type) {
    case 3:
      return view.getUint16(at, isLittle);
    case 4:
      return view.getUint32(at, isLittle);
    case 6:
      return view.getInt8(at);
    case 8:
      return view.getInt16(at, isLittle);
    default:
      return view.getInt32(at, isLittle);
  }
}
