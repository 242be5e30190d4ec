/** A question before a page with an unsaved text is left. The text itself is kept in the browser. */
import { useBlocker } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { Dialog, DialogActions } from "@/components/overlays/Dialog";
import { isDraftKept } from "./drafts";

interface Props {
  isDirty: boolean;
  /** The beginning of the addresses among which nobody is asked. */
  within: string;
  /** The name of the draft. */
  draft: string;
}

export function LeaveGuard({ isDirty, within, draft }: Props) {
  const { t } = useTranslation(["skills", "common"]);
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ next }) => isDirty && !next.pathname.startsWith(within),
    // A reload brings the text back, unless the browser could not keep it.
    enableBeforeUnload: () => isDirty && !isDraftKept(draft),
    withResolver: true,
  });
  if (status !== "blocked") return null;
  return (
    <Dialog open onClose={reset} title={t("leave.title")} description={t("leave.what")}>
      <DialogActions>
        <Button onClick={proceed}>{t("leave.leave")}</Button>
        <Button variant="primary" onClick={reset}>
          {t("leave.stay")}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
