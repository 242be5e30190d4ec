/** A version that waits for a decision, and the decision. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useAccount, useMay } from "@/api/account";
import { api } from "@/api/client";
import { Button, LinkButton } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Notice } from "@/components/feedback/Notice";
import { notify } from "@/components/feedback/toasts";
import { TextAreaField } from "@/components/forms/Field";
import { Dialog, DialogActions } from "@/components/overlays/Dialog";
import { forgetSkill, keepChanged, loaded, type SkillDetail } from "../skillQueries";

type Decision = "approve" | "reject";

export function ReviewNotice({ skill }: { skill: SkillDetail }) {
  const { t } = useTranslation(["skills", "common"]);
  const may = useMay();
  const [decision, setDecision] = useState<Decision | null>(null);
  const version = skill.pending_version;
  if (version === null) return null;
  // What was imported is its owner's to read; what widened in public is an administrator's.
  const isOwn = skill.access === "owner";
  const decides =
    may("skill:write") && (isOwn ? !skill.is_public || !skill.trusted || may("system:manage") : may("system:manage"));
  return (
    <Notice
      tone="warning"
      action={
        <>
          <LinkButton
            size="s"
            to="/skills/$skillId/versions"
            params={{ skillId: skill.id }}
            search={version > 1 ? { to: version } : { from: version, to: version }}
          >
            {t("review.look")}
          </LinkButton>
          {decides && (
            <>
              <Button size="s" onClick={() => setDecision("reject")}>
                {t("review.reject")}
              </Button>
              <Button size="s" variant="primary" onClick={() => setDecision("approve")}>
                {t("review.approve")}
              </Button>
            </>
          )}
        </>
      }
    >
      <p>{t(skill.trusted ? "review.pending" : "review.unread", { number: version })}</p>
      {decision && <ReviewDialog {...{ skill, version, decision }} onClose={() => setDecision(null)} />}
    </Notice>
  );
}

function ReviewDialog({
  skill,
  version,
  decision,
  onClose,
}: {
  skill: SkillDetail;
  version: number;
  decision: Decision;
  onClose: () => void;
}) {
  const { t } = useTranslation(["skills", "common"]);
  const queries = useQueryClient();
  const account = useAccount();
  const [note, setNote] = useState("");
  const review = useMutation({
    mutationFn: () =>
      loaded(
        api.POST("/api/v1/skills/{skill_id}/review", {
          params: { path: { skill_id: skill.id } },
          body: { decision, version, note },
        }),
      ),
    onSuccess: async ({ skill: changed }) => {
      // The answer has no ETag: the skill is read again.
      await keepChanged(queries, { skill: changed, etag: "" });
      await forgetSkill(queries, skill.id);
      notify(t(decision === "approve" ? "review.approved" : "review.rejected", { number: version }));
      onClose();
    },
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title={t(`review.${decision}_title`, { number: version })}
      description={t(
        decision === "approve" && skill.owner.id === account?.id ? "review.approve_own" : `review.${decision}_what`,
      )}
    >
      <TextAreaField
        label={t("review.note")}
        value={note}
        maxLength={2000}
        onChange={(event) => setNote(event.target.value)}
      />
      {review.error && <ErrorNotice error={review.error} />}
      <DialogActions>
        <Button onClick={onClose}>{t("common:action.cancel")}</Button>
        <Button
          variant={decision === "approve" ? "primary" : "danger"}
          busy={review.isPending}
          onClick={() => review.mutate()}
        >
          {t(`review.${decision}`)}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
