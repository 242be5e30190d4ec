import { describe, expect, it } from "vitest";
import { readDirectories } from "./tiffDirectories";

interface Entry {
  tag: number;
  type: number;
  count: number;
  value: number;
}

const WIDTH: Entry = { tag: 256, type: 3, count: 1, value: 30 };
const HEIGHT: Entry = { tag: 257, type: 4, count: 1, value: 20 };

/** A TIFF of one directory at 8, which is followed by the one at `next`. */
function tiff(entries: Entry[], { next = 0, isLittle = true, after = [] as number[] } = {}): ArrayBuffer {
  const end = 8 + 2 + entries.length * 12 + 4;
  const view = new DataView(new ArrayBuffer(end + after.length));
  view.setUint16(0, isLittle ? 0x4949 : 0x4d4d);
  view.setUint16(2, 42, isLittle);
  view.setUint32(4, 8, isLittle);
  view.setUint16(8, entries.length, isLittle);
  entries.forEach(({ tag, type, count, value }, index) => {
    const at = 10 + index * 12;
    view.setUint16(at, tag, isLittle);
    view.setUint16(at + 2, type, isLittle);
    view.setUint32(at + 4, count, isLittle);
    if (type === 3 && count === 1) view.setUint16(at + 8, value, isLittle);
    else view.setUint32(at + 8, value, isLittle);
  });
  view.setUint32(end - 4, next, isLittle);
  after.forEach((byte, index) => {
    view.setUint8(end + index, byte);
  });
  return view.buffer;
}

describe("the directories of a TIFF", () => {
  it.each([true, false])("are read in either order of bytes", (isLittle) => {
    expect(readDirectories(tiff([WIDTH, HEIGHT], { isLittle }))).toEqual([{ t256: [30], t257: [20] }]);
  });

  it("have values beyond four bytes where the entry points to", () => {
    const bits: Entry = { tag: 258, type: 3, count: 3, value: 8 + 2 + 12 + 4 };
    expect(readDirectories(tiff([bits], { after: [8, 0, 8, 0, 16, 0] }))).toEqual([{ t258: [8, 8, 16] }]);
  });

  it("lead back to no directory that was read", () => {
    expect(() => readDirectories(tiff([WIDTH], { next: 8 }))).toThrow("never end");
  });

  it("have no more values than the file has room for", () => {
    const strips: Entry = { tag: 273, type: 4, count: 0xffffffff, value: 0 };
    expect(readDirectories(tiff([WIDTH, strips]))).toEqual([{ t256: [30] }]);
  });

  it("are in a TIFF file, and within it", () => {
    expect(() => readDirectories(new TextEncoder().encode("%PDF-1.7 and more").buffer)).toThrow("no TIFF");
    expect(() => readDirectories(tiff([WIDTH], { next: 4000 }))).toThrow(RangeError);
    expect(() => readDirectories(new ArrayBuffer(3))).toThrow("no TIFF");
  });
});
