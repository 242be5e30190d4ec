/** Which files go to the server together, and under which names. */

export interface PickedFile {
  file: File;
  /** Path below the folder that was dropped; the file's own name where there is none. */
  path: string;
}

export type UploadBatch =
  | { kind: "files"; files: readonly PickedFile[]; bytes: number }
  | { kind: "archive"; files: readonly [PickedFile]; bytes: number };

const MOST_FILES = 32;
const SMALL_BYTES = 64 * 1024;
const MOST_BYTES = 512 * 1024;
const NAME_BYTES = 250;
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;

/** The name of a document that came from a folder: `a/b.html` is `a › b.html`, as `agentex ingest` names it. */
export function documentName(path: string): string {
  const clean = path.replaceAll("\\", "/").normalize("NFC").replace(INVISIBLE, "");
  let name = clean
    .split("/")
    .map((part) => part.trim())
    .join(" › ")
    .replace(/[. ]+$/, "");
  // The server knows README and its like by their whole name, which a folder in front hides.
  if (clean.includes("/") && !/[^/]\.[^/]*$/.test(clean)) name += ".txt";
  const encoder = new TextEncoder();
  while (encoder.encode(name).length > NAME_BYTES) name = `…${[...name.replace(/^…/, "")].slice(1).join("")}`;
  return name;
}

/** Hidden files, and all below hidden folders, are not meant. */
export function isHidden(path: string): boolean {
  return path.split("/").some((part) => part.startsWith(".") || part === "__MACOSX");
}

function isArchive({ path }: PickedFile): boolean {
  return /\.zip$/i.test(path);
}

/** Small files go together, large ones and archives alone; in order. */
export function planBatches(picked: readonly PickedFile[], senders: number): UploadBatch[] {
  const most = Math.min(MOST_FILES, Math.max(1, Math.floor(picked.length / senders)));
  const batches: UploadBatch[] = [];
  let group: PickedFile[] = [];
  let bytes = 0;
  const close = () => {
    if (group.length) batches.push({ kind: "files", files: group, bytes });
    group = [];
    bytes = 0;
  };
  for (const item of picked) {
    const { size } = item.file;
    if (isArchive(item)) batches.push({ kind: "archive", files: [item], bytes: size });
    else if (size > SMALL_BYTES) batches.push({ kind: "files", files: [item], bytes: size });
    else {
      if (group.length === most || bytes + size > MOST_BYTES) close();
      group.push(item);
      bytes += size;
    }
  }
  close();
  return batches;
}

const TITLE_LETTERS = 80;

/** The file name of a pasted text: the given one, or its first line; Markdown where it has no ending. */
export function textFileName(name: string, text: string, untitled: string): string {
  const first = text.trim().split("\n", 1)[0] ?? "";
  const title = [...first.replace(/^[#>*\-\s]+/, "").replace(/[\\/]/g, " ")].slice(0, TITLE_LETTERS).join("");
  const whole = name.replace(/[\\/]/g, " ").trim();
  if (/[^.]\.\w{1,10}$/.test(whole)) return whole;
  // A line that ends like a sentence would leave its full stop before the ending.
  return `${whole || title.replace(/[\s.。]+$/, "").trim() || untitled}.md`;
}
