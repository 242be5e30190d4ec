/** All that is known of a document. */
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Dialog } from "@/components/overlays/Dialog";
import { formatBytes, formatDateTime, formatNumber } from "@/i18n/format";
import { BUILT_IN } from "../../knowledge/parsers/choiceKeys";
import type { DocumentAnswer } from "../queries";
import styles from "./DocumentDetails.module.css";
import { textOf } from "./metadata";

export function DocumentDetails({
  document,
  open,
  onClose,
}: {
  document: DocumentAnswer;
  open: boolean;
  onClose: () => void;
}) {
  const { t } = useTranslation("documents");
  const metadata = Object.entries(document.metadata);
  return (
    <Dialog open={open} onClose={onClose} title={t("details.title")}>
      <dl className={styles.facts}>
        <Fact name={t("details.type")}>{document.media_type}</Fact>
        <Fact name={t("details.size")}>{formatBytes(document.file_size)}</Fact>
        {document.pages !== null && <Fact name={t("details.pages")}>{formatNumber(document.pages)}</Fact>}
        <Fact name={t("chunk.title")}>{formatNumber(document.chunk_count)}</Fact>
        {document.encoding && (
          <Fact name={t("details.encoding")}>
            {document.chosen_encoding
              ? t("details.encoding_chosen", { encoding: document.encoding })
              : document.encoding}
          </Fact>
        )}
        {document.parser && document.parser !== BUILT_IN && <Fact name={t("details.parser")}>{document.parser}</Fact>}
        <Fact name={t("details.revision")}>
          {document.active_revision !== null && document.active_revision !== document.revision
            ? t("details.revision_waits", { revision: document.revision, active: document.active_revision })
            : formatNumber(document.revision)}
        </Fact>
        <Fact name={t("details.created")}>{formatDateTime(document.created_at)}</Fact>
        <Fact name={t("details.updated")}>{formatDateTime(document.updated_at)}</Fact>
        {document.completed_at && <Fact name={t("details.completed")}>{formatDateTime(document.completed_at)}</Fact>}
        <Fact name={t("details.sha256")}>
          <code>{document.sha256}</code>
        </Fact>
      </dl>
      <h3>{t("metadata.title")}</h3>
      {metadata.length === 0 ? (
        <p className={styles.none}>{t("metadata.none")}</p>
      ) : (
        <dl className={styles.facts}>
          {metadata.map(([key, value]) => (
            <Fact key={key} name={key}>
              {typeof value === "boolean" ? t(value ? "metadata.yes" : "metadata.no") : textOf(value)}
            </Fact>
          ))}
        </dl>
      )}
    </Dialog>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
