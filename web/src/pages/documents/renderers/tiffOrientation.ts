/** How a picture lies in its file (TIFF 6.0, tag 274), and how it is put upright. */

export type ExifOrientation = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;

type Transform = [a: number, b: number, c: number, d: number, e: number, f: number];

/** The orientation that a file names; 1, upright, where it names none. */
export function orientationOf(value: number): ExifOrientation {
  return value >= 1 && value <= 8 ? (Math.trunc(value) as ExifOrientation) : 1;
}

/** Whether the upright picture is as wide as the one in the file is high. */
export function swapsSides(orientation: ExifOrientation): boolean {
  return orientation > 4;
}

/** The transform of a canvas that draws a picture of this size in its file upright. */
export function uprightTransform(orientation: ExifOrientation, width: number, height: number): Transform {
  switch (orientation) {
    case 1:
      return [1, 0, 0, 1, 0, 0];
    case 2:
      return [-1, 0, 0, 1, width, 0];
    case 3:
      return [-1, 0, 0, -1, width, height];
    case 4:
      return [1, 0, 0, -1, 0, height];
    case 5:
      return [0, 1, 1, 0, 0, 0];
    case 6:
      return [0, 1, -1, 0, height, 0];
    case 7:
      return [0, -1, -1, 0, height, width];
    case 8:
      return [0, -1, 1, 0, 0, width];
  }
}
