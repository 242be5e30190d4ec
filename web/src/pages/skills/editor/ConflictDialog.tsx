/** Two texts that were written on the same version: each difference is decided, and the result goes on. */
import { lazy, Suspense, useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { Skeleton } from "@/components/layout/Page";
import { Dialog, DialogActions } from "@/components/overlays/Dialog";
import type { SkillDetail } from "../skillQueries";

const TextDifference = lazy(() =>
  import("./source/TextDifference").then((module) => ({ default: module.TextDifference })),
);

interface Props {
  theirs: SkillDetail;
  text: string;
  busy: boolean;
  /** Discard the person's own text. */
  onTake: () => void;
  /** Go on writing from the merged text. */
  onMerge: (merged: string) => void;
  /** Save the merged text as the next version. */
  onKeep: (merged: string) => void;
  onClose: () => void;
}

export function ConflictDialog({ theirs, text, busy, onTake, onMerge, onKeep, onClose }: Props) {
  const { t } = useTranslation(["skills", "common"]);
  const [merged, setMerged] = useState(text);
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={t("conflict.title", { number: theirs.version })}
      description={t("conflict.what")}
    >
      <Suspense fallback={<Skeleton lines={8} />}>
        <TextDifference before={theirs.content} after={text} label={t("conflict.difference")} onChange={setMerged} />
      </Suspense>
      <DialogActions>
        <Button onClick={onTake}>{t("conflict.take", { number: theirs.version })}</Button>
        <Button onClick={() => onMerge(merged)}>{t("conflict.go_on")}</Button>
        <Button variant="primary" busy={busy} onClick={() => onKeep(merged)}>
          {t("conflict.keep", { number: theirs.version + 1 })}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
