/** Where files, folders and zip archives are dropped or chosen. */
import { ClipboardPaste, FolderUp, Upload } from "lucide-react";
import { type RefObject, useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { choiceOf, keyOf, type ParserChoice } from "../parsers/choiceKeys";
import { useParserOptions } from "../parsers/ParserField";
import { filesOfDrop, filesOfPicker, type Gathered } from "./droppedFiles";
import { PasteDialog } from "./PasteDialog";
import type { OnConflict } from "./sendBatch";
import styles from "./UploadArea.module.css";
import { UploadPanel } from "./UploadPanel";
import { type Refusal, uploadQueue } from "./uploadQueue";

const CONFLICTS = ["replace", "keep_both", "refuse"] as const satisfies readonly OnConflict[];

export function UploadArea({ kbId, isEmpty }: { kbId: string; isEmpty: boolean }) {
  const { t } = useTranslation("knowledge");
  const queue = uploadQueue(kbId);
  const [onConflict, setOnConflict] = useState<OnConflict>("replace");
  const [parser, setParser] = useState<ParserChoice | null>(null);
  const choices = { onConflict, parser };
  const [isReading, setReading] = useState(false);
  async function take(gathering: Promise<Gathered>) {
    setReading(true);
    const { files, hidden, unreadable } = await gathering;
    const refusals: Refusal[] = [
      ...unreadable.map((name) => ({ name, error: undefined, cause: "unreadable" as const })),
      ...hidden.map((name) => ({ name, error: undefined, cause: "hidden" as const })),
    ];
    setReading(false);
    if (files.length || refusals.length) queue.add(files, choices, refusals);
  }
  const isOver = useWindowDrop((transfer) => void take(filesOfDrop(transfer)));
  const [pasted, setPasted] = useState<string | null>(null);
  usePaste((transfer) => {
    if (transfer.files.length) void take(filesOfDrop(transfer));
    else setPasted(transfer.getData("text/plain"));
  });
  return (
    <>
      <section
        aria-label={t("upload.label")}
        className={[styles.area, isOver && styles.over, isEmpty && styles.large].filter(Boolean).join(" ")}
      >
        <Upload size={isEmpty ? 32 : 22} aria-hidden />
        <div className={styles.words}>
          <p className={styles.lead}>{t(isOver ? "upload.drop_now" : isReading ? "upload.reading" : "upload.drop")}</p>
          <p className={styles.small}>{t("upload.formats")}</p>
        </div>
        <Pickers onFiles={(files) => void take(Promise.resolve(filesOfPicker(files)))} onPaste={() => setPasted("")} />
        <label className={styles.conflict}>
          {t("upload.conflict")}
          <select
            aria-label={t("upload.conflict")}
            value={onConflict}
            onChange={(event) => setOnConflict(CONFLICTS.find((name) => name === event.target.value) ?? "replace")}
          >
            {CONFLICTS.map((name) => (
              <option key={name} value={name}>
                {t(`upload.on_conflict.${name}`)}
              </option>
            ))}
          </select>
        </label>
        <ParserOfUpload value={parser} onChange={setParser} />
      </section>
      <UploadPanel queue={queue} />
      {pasted !== null && (
        <PasteDialog text={pasted} onFile={(file) => queue.add([file], choices)} onClose={() => setPasted(null)} />
      )}
    </>
  );
}

function ParserOfUpload({
  value,
  onChange,
}: {
  value: ParserChoice | null;
  onChange: (choice: ParserChoice | null) => void;
}) {
  const { t } = useTranslation("knowledge");
  const choices = useParserOptions();
  if (choices.length < 2) return null;
  return (
    <label className={styles.conflict}>
      {t("upload.parser")}
      <select
        aria-label={t("upload.parser")}
        value={value ? keyOf(value) : ""}
        onChange={(event) => onChange(event.target.value ? choiceOf(event.target.value) : null)}
      >
        <option value="">{t("parser.inherited")}</option>
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value} disabled={choice.disabled}>
            {choice.label}
          </option>
        ))}
      </select>
    </label>
  );
}

function Pickers({ onFiles, onPaste }: { onFiles: (files: FileList) => void; onPaste: () => void }) {
  const { t } = useTranslation("knowledge");
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  // React knows no property of this name.
  useEffect(() => folder.current?.setAttribute("webkitdirectory", ""), []);
  const input = (ref: RefObject<HTMLInputElement | null>) => (
    <input
      ref={ref}
      type="file"
      multiple
      hidden
      onChange={(event) => {
        if (event.target.files?.length) onFiles(event.target.files);
        // The same file can be chosen again.
        event.target.value = "";
      }}
    />
  );
  return (
    <span className={styles.pickers}>
      {input(files)}
      {input(folder)}
      <Button variant="primary" icon={Upload} onClick={() => files.current?.click()}>
        {t("upload.files")}
      </Button>
      <Button icon={FolderUp} onClick={() => folder.current?.click()}>
        {t("upload.folder")}
      </Button>
      <Button icon={ClipboardPaste} onClick={onPaste}>
        {t("paste.button")}
      </Button>
    </span>
  );
}

/** The whole page takes drops: nobody should have to aim. Says whether files hover over it. */
function useWindowDrop(onDrop: (transfer: DataTransfer) => void): boolean {
  const [depth, setDepth] = useState(0);
  const latest = useRef(onDrop);
  latest.current = onDrop;
  useEffect(() => {
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const over = (event: DragEvent) => hasFiles(event) && event.preventDefault();
    const enter = (event: DragEvent) => hasFiles(event) && setDepth((before) => before + 1);
    const leave = (event: DragEvent) => hasFiles(event) && setDepth((before) => Math.max(0, before - 1));
    const drop = (event: DragEvent) => {
      if (!event.dataTransfer || !hasFiles(event)) return;
      event.preventDefault();
      setDepth(0);
      latest.current(event.dataTransfer);
    };
    const pairs = [
      ["dragover", over],
      ["dragenter", enter],
      ["dragleave", leave],
      ["drop", drop],
    ] as const;
    for (const [name, listener] of pairs) window.addEventListener(name, listener);
    return () => {
      for (const [name, listener] of pairs) window.removeEventListener(name, listener);
    };
  }, []);
  return depth > 0;
}

/** Files and texts that are pasted while no field and no dialog takes them. */
function usePaste(onPaste: (transfer: DataTransfer) => void): void {
  const latest = useRef(onPaste);
  latest.current = onPaste;
  useEffect(() => {
    function paste(event: ClipboardEvent) {
      const isTaken = event.target instanceof Element && event.target.closest("input, textarea, [role=dialog]");
      if (isTaken || !event.clipboardData?.types.length) return;
      event.preventDefault();
      latest.current(event.clipboardData);
    }
    window.addEventListener("paste", paste);
    return () => window.removeEventListener("paste", paste);
  }, []);
}
