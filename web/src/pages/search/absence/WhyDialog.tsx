/** Choose the passage that was expected. */
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { Dialog, DialogActions } from "@/components/overlays/Dialog";
import type { PassageReference } from "../searchParams";
import { type ChosenDocument, DocumentChoice } from "./DocumentChoice";
import { PassageChoice } from "./PassageChoice";

export function WhyDialog({
  kbId,
  open,
  onClose,
  onChoose,
}: {
  kbId: string;
  open: boolean;
  onClose: () => void;
  onChoose: (wanted: PassageReference) => void;
}) {
  const { t } = useTranslation(["search", "common"]);
  const [document, setDocument] = useState<ChosenDocument | null>(null);
  const [words, setWords] = useState("");
  const [chunk, setChunk] = useState<string | null>(null);
  const ready = document && (chunk || words.trim());

  function choose() {
    if (!document) return;
    onChoose(chunk ? { chunk_id: chunk } : { document_id: document.id, text: words });
    onClose();
  }
  return (
    <Dialog open={open} onClose={onClose} title={t("why.title")} description={t("why.choose")} wide>
      <DocumentChoice
        kbId={kbId}
        chosen={document}
        onChoose={(found) => {
          setDocument(found);
          setChunk(null);
        }}
      />
      {document && (
        <PassageChoice
          kbId={kbId}
          documentId={document.id}
          words={words}
          onWords={(text) => {
            setWords(text);
            setChunk(null);
          }}
          chosen={chunk}
          onChoose={({ id }) => setChunk(id)}
        />
      )}
      <DialogActions>
        <Button onClick={onClose}>{t("common:action.cancel")}</Button>
        <Button variant="primary" disabled={!ready} onClick={choose}>
          {t("why.explain")}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
