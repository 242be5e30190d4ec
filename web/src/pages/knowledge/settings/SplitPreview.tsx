/** How a document would be cut, as a picture: passages in colours, the overlap marked. */
import { useMutation } from "@tanstack/react-query";
import { ScissorsLineDashed, X } from "lucide-react";
import { useCallback, useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, call, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { TextField } from "@/components/forms/Field";
import { formatNumber } from "@/i18n/format";
import { type ChosenDocument, DocumentChoice } from "@/pages/search/absence/DocumentChoice";
import { overlapLength } from "./overlap";
import type { Splitting } from "./presets";
import styles from "./SplitPreview.module.css";

type Preview = Schemas["SplitPreviewAnswer"];
type SplitPreviewPiece = Schemas["PieceAnswer"];

const PIECES = 30;
const AGAIN_MS = 700;

interface PreviewRequest {
  splitting: Splitting;
  source: File | ChosenDocument;
  signal: AbortSignal;
}

function usePreview(kbId: string) {
  return useMutation({
    mutationFn: ({ splitting, source, signal }: PreviewRequest) => {
      const { splitter, chunk_size, chunk_overlap } = splitting;
      const query = { splitter, chunk_size, chunk_overlap, pieces: PIECES };
      const path = { kb_id: kbId };
      if (!(source instanceof File))
        return call(
          api.POST("/api/v1/knowledge-bases/{kb_id}/split-preview", {
            params: { path, query: { ...query, document_id: source.id } },
            signal,
          }),
        );
      const form = new FormData();
      form.append("file", source);
      return call(
        api.POST("/api/v1/knowledge-bases/{kb_id}/split-preview", {
          params: { path, query },
          body: { file: "" },
          bodySerializer: () => form,
          signal,
        }),
      );
    },
  });
}

export function SplitPreview({
  kbId,
  splitting,
  isWrong,
  hasDocuments,
}: {
  kbId: string;
  splitting: Splitting;
  isWrong: boolean;
  hasDocuments: boolean;
}) {
  const { t } = useTranslation("knowledge");
  const [document, setDocument] = useState<ChosenDocument | null>(null);
  const [file, setFile] = useState<File | null>(null);
  const preview = usePreview(kbId);
  const source = file ?? document;
  const { mutate, reset, data: shown } = preview;
  const aborter = useRef(new AbortController());
  const begin = useCallback(
    (splitting: Splitting, source: File | ChosenDocument) => {
      // The one before is not waited for any more, and the server ends it.
      aborter.current.abort();
      aborter.current = new AbortController();
      mutate({ splitting, source, signal: aborter.current.signal });
    },
    [mutate],
  );
  useEffect(() => () => aborter.current.abort(), []);
  const { splitter, chunk_size, chunk_overlap } = splitting;
  const latest = useRef(source);
  latest.current = source;
  // A picture of other settings than those above would mislead.
  useEffect(() => {
    const same =
      shown?.splitter === splitter && shown.chunk_size === chunk_size && shown.chunk_overlap === chunk_overlap;
    if (!shown || same || isWrong) return;
    const timer = setTimeout(
      () => latest.current && begin({ splitter, chunk_size, chunk_overlap }, latest.current),
      AGAIN_MS,
    );
    return () => clearTimeout(timer);
  }, [shown, splitter, chunk_size, chunk_overlap, isWrong, begin]);
  return (
    <div className={styles.preview}>
      <h3>{t("preview.title")}</h3>
      <p className={styles.small}>{t("preview.hint")}</p>
      <div className={styles.source}>
        {hasDocuments && !file && <DocumentChoice kbId={kbId} chosen={document} onChoose={setDocument} />}
        <TextField
          type="file"
          label={t(hasDocuments && !file ? "preview.or_file" : "preview.file")}
          onChange={(event) => setFile(event.target.files?.[0] ?? null)}
        />
        <Button
          icon={ScissorsLineDashed}
          disabled={!source || isWrong}
          busy={preview.isPending}
          onClick={() => source && begin(splitting, source)}
        >
          {t("preview.show")}
        </Button>
      </div>
      {preview.isPending && (
        <div className={styles.source} role="status">
          <p className={styles.small}>{t("preview.waiting")}</p>
          <Button
            icon={X}
            onClick={() => {
              aborter.current.abort();
              reset();
            }}
          >
            {t("preview.cancel")}
          </Button>
        </div>
      )}
      {preview.isError && <ErrorNotice error={preview.error} />}
      {preview.data && <PreviewResult preview={preview.data} />}
    </div>
  );
}

function PreviewResult({ preview }: { preview: Preview }) {
  const { t } = useTranslation("knowledge");
  const { pieces, total, mean_tokens, max_tokens, windows } = preview;
  const most = Math.max(1, ...pieces.map(({ token_count }) => token_count));
  return (
    <div className={styles.result} role="status">
      <p>
        {t("preview.figures", {
          count: total,
          mean: formatNumber(Math.round(mean_tokens)),
          most: formatNumber(max_tokens),
        })}
        {windows > 0 && ` ${t("preview.windows", { count: windows })}`}
      </p>
      <div className={styles.bars} aria-hidden>
        {pieces.map((piece) => (
          <span
            key={piece.index}
            className={piece.index % 2 ? styles.odd : styles.even}
            style={{ height: `${Math.max(4, (piece.token_count / most) * 100)}%` }}
          />
        ))}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <ol className={styles.pieces} tabIndex={0} aria-label={t("preview.title")}>
        {pieces.map((piece, place) => (
          <PieceBlock key={piece.index} piece={piece} before={pieces[place - 1]} />
        ))}
      </ol>
      {total > pieces.length && <p className={styles.small}>{t("preview.more", { count: total - pieces.length })}</p>}
    </div>
  );
}

function PieceBlock({ piece, before }: { piece: SplitPreviewPiece; before: SplitPreviewPiece | undefined }) {
  const { t } = useTranslation("knowledge");
  const shared = before ? overlapLength(before.text, piece.text) : 0;
  const facts = [
    t("preview.tokens", { count: piece.token_count }),
    piece.page !== null && t("preview.page", { page: piece.page }),
    piece.windows.length > 0 && t("preview.windows_of", { count: piece.windows.length }),
  ];
  return (
    <li className={`${styles.piece} ${piece.index % 2 ? styles.odd : styles.even}`}>
      <p className={styles.small}>
        <strong>{t("preview.number", { number: piece.index + 1 })}</strong> {facts.filter(Boolean).join(" · ")}
      </p>
      {piece.heading_path.length > 0 && <p className={styles.headings}>{piece.heading_path.join(" › ")}</p>}
      <p className={styles.text}>
        {shared > 0 && (
          <mark title={t("preview.overlap")} className={styles.overlap}>
            {piece.text.slice(0, shared)}
          </mark>
        )}
        {piece.text.slice(shared)}
      </p>
    </li>
  );
}
