/** Two texts that were written on the same version: which one stays. */
import { lazy, Suspense } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { Dialog, DialogActions } from "@/components/Dialog";
import { Skeleton } from "@/components/Page";
import type { SkillDetail } from "../skillQueries";

const TextDifference = lazy(() =>
  import("./source/TextDifference").then((module) => ({ default: module.TextDifference })),
);

interface Props {
  theirs: SkillDetail;
  text: string;
  busy: boolean;
  onTake: () => void;
  onKeep: () => void;
  onClose: () => void;
}

export function ConflictDialog({ theirs, text, busy, onTake, onKeep, onClose }: Props) {
  const { t } = useTranslation(["skills", "common"]);
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={t("conflict.title", { number: theirs.version })}
      description={t("conflict.what")}
    >
      <Suspense fallback={<Skeleton lines={8} />}>
        <TextDifference before={theirs.content} after={text} label={t("conflict.difference")} />
      </Suspense>
      <DialogActions>
        <Button onClick={onClose}>{t("conflict.go_on")}</Button>
        <Button onClick={onTake}>{t("conflict.take", { number: theirs.version })}</Button>
        <Button variant="primary" busy={busy} onClick={onKeep}>
          {t("conflict.keep", { number: theirs.version + 1 })}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
