/** The files of a drop or a picker, folders read to the bottom. */
import { isHidden, type PickedFile } from "./uploadPlan";

export interface Gathered {
  files: PickedFile[];
  /** Paths of hidden files that were left out. */
  hidden: string[];
  /** Paths that the browser may not or can't read. */
  unreadable: string[];
}

/** Must be called within the drop event: its items are gone afterwards. */
export function filesOfDrop(transfer: DataTransfer): Promise<Gathered> {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const plain = [...transfer.files];
  return entries.length ? walkAll(entries) : Promise.resolve(filesOfPicker(plain));
}

async function walkAll(entries: readonly FileSystemEntry[]): Promise<Gathered> {
  const gathered: Gathered = { files: [], hidden: [], unreadable: [] };
  for (const entry of entries) await walk(entry, "", gathered);
  return gathered;
}

async function walk(entry: FileSystemEntry, folder: string, gathered: Gathered): Promise<void> {
  const path = folder ? `${folder}/${entry.name}` : entry.name;
  if (folder && isHidden(entry.name)) {
    gathered.hidden.push(path);
    return;
  }
  try {
    if (entry.isFile) gathered.files.push({ file: await fileOf(entry as FileSystemFileEntry), path: below(path) });
    else for (const child of await childrenOf(entry as FileSystemDirectoryEntry)) await walk(child, path, gathered);
  } catch {
    gathered.unreadable.push(path);
  }
}

/** Without the dropped folder itself, so that a document has the same name whoever uploads the folder. */
function below(path: string): string {
  const slash = path.indexOf("/");
  return slash < 0 ? path : path.slice(slash + 1);
}

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}

/** A reader gives at most a hundred entries at a time. */
async function childrenOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const children: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return children.sort((one, other) => one.name.localeCompare(other.name));
    children.push(...some);
  }
}

export function filesOfPicker(files: Iterable<File>): Gathered {
  const gathered: Gathered = { files: [], hidden: [], unreadable: [] };
  for (const file of files) {
    const path = below(file.webkitRelativePath || file.name);
    if (file.webkitRelativePath && isHidden(path)) gathered.hidden.push(path);
    else gathered.files.push({ file, path });
  }
  return gathered;
}
