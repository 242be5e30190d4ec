/** One passage in the list beside the original. */
import { Pencil, ScanText } from "lucide-react";
import { memo, useState } from "react";
import { useTranslation } from "react-i18next";
import { Button, IconButton } from "@/components/Button";
import { Badge } from "@/components/feedback/Badge";
import { useErrorToast } from "@/components/feedback/toasts";
import { SwitchField } from "@/components/forms/Field";
import { formatNumber } from "@/i18n/format";
import type { CharSpan } from "../passages";
import { type DocumentChunk, quoteOf } from "../passages";
import type { ChunkDraft } from "../useDrafts";
import { ChunkEditor } from "./ChunkEditor";
import styles from "./ChunkList.module.css";
import { useChunkChange } from "./useChunkChange";

interface Props {
  chunk: DocumentChunk;
  isSelected: boolean;
  isWritable: boolean;
  span: CharSpan | undefined;
  draft: ChunkDraft | undefined;
  onDraft: (chunkId: string, draft: ChunkDraft | null) => void;
  onSelect: (chunk: DocumentChunk) => void;
  onShow: (chunk: DocumentChunk) => void;
  onHover: (chunk: DocumentChunk | null) => void;
}

// Longer texts are cut until somebody wants to see all of them.
const FOLDED = 700;

export const ChunkCard = memo(function ChunkCard(props: Props) {
  const { chunk, isSelected, draft, onDraft, onHover } = props;
  const { t } = useTranslation("documents");
  return (
    <article
      aria-label={t("chunk.label", { number: formatNumber(chunk.position + 1) })}
      className={[styles.card, isSelected && styles.selected].filter(Boolean).join(" ")}
      onMouseEnter={() => onHover(chunk)}
      onMouseLeave={() => onHover(null)}
      onFocus={() => onHover(chunk)}
      onBlur={() => onHover(null)}
    >
      <CardHead {...props} />
      {draft ? (
        <ChunkEditor chunk={chunk} draft={draft} onDraft={(next) => onDraft(chunk.id, next)} />
      ) : (
        <>
          <CardText {...props} />
          <CardControls {...props} />
        </>
      )}
    </article>
  );
});

function CardHead({ chunk, isSelected, onSelect }: Props) {
  const { t } = useTranslation("documents");
  return (
    <header className={styles.head}>
      <button
        type="button"
        className={styles.number}
        aria-pressed={isSelected}
        title={t("chunk.show")}
        onClick={() => onSelect(chunk)}
      >
        {t("chunk.label", { number: formatNumber(chunk.position + 1) })}
      </button>
      <span className={styles.facts}>
        {chunk.page !== null && <span>{t("pdf.page_number", { page: chunk.page })}</span>}
        <span>{t("chunk.tokens", { count: chunk.token_count, formatted: formatNumber(chunk.token_count) })}</span>
      </span>
      {chunk.edited && <Badge tone="info">{t("chunk.edited")}</Badge>}
      {!chunk.enabled && <Badge tone="warning">{t("chunk.disabled")}</Badge>}
    </header>
  );
}

function CardText({ chunk, isSelected, span, onSelect }: Props) {
  const { t } = useTranslation("documents");
  const [isOpen, setOpen] = useState(false);
  const isLong = chunk.content.length > FOLDED + 100;
  const isShort = isLong && !isOpen && !isSelected;
  const text = isShort ? `${chunk.content.slice(0, FOLDED)}…` : chunk.content;
  const quote = isSelected ? quoteOf(chunk, span) : null;
  const at = quote ? text.indexOf(quote) : -1;
  return (
    <>
      {chunk.heading_path.length > 0 && <p className={styles.path}>{chunk.heading_path.join(" › ")}</p>}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the button above does the same */}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the button above does the same */}
      <div
        className={[styles.content, !chunk.enabled && styles.off].filter(Boolean).join(" ")}
        onClick={() => window.getSelection()?.isCollapsed && onSelect(chunk)}
      >
        {quote && at >= 0 ? (
          <>
            {text.slice(0, at)}
            <mark>{quote}</mark>
            {text.slice(at + quote.length)}
          </>
        ) : (
          text
        )}
      </div>
      {isShort && (
        <Button size="s" variant="ghost" onClick={() => setOpen(true)}>
          {t("chunk.more")}
        </Button>
      )}
    </>
  );
}

function CardControls({ chunk, isWritable, onDraft, onShow }: Props) {
  const { t } = useTranslation("documents");
  const change = useChunkChange(chunk);
  const showError = useErrorToast();
  return (
    <div className={styles.controls}>
      {isWritable && (
        <SwitchField
          label={t("chunk.enabled")}
          checked={chunk.enabled}
          disabled={change.isPending}
          onChange={(enabled) => change.mutate({ version: chunk.version, enabled }, { onError: showError })}
        />
      )}
      <span className={styles.gap} />
      <IconButton
        size="s"
        icon={ScanText}
        label={t("chunk.show")}
        className={styles.narrow}
        onClick={() => onShow(chunk)}
      />
      {isWritable && (
        <IconButton
          size="s"
          icon={Pencil}
          label={t("chunk.edit", { number: formatNumber(chunk.position + 1) })}
          onClick={() => onDraft(chunk.id, { content: chunk.content, version: chunk.version })}
        />
      )}
    </div>
  );
}
