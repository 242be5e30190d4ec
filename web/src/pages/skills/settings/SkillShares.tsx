/** With whom a skill is shared. */
import { useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api, call } from "@/api/client";
import { ShareSection } from "@/components/sharing/ShareSection";
import { changeOfSkill, type SkillDetail } from "../skillQueries";

const PLACE = "/api/v1/skills/{skill_id}/shares";

export function SkillShares({ skill }: { skill: SkillDetail }) {
  const { t } = useTranslation("skills");
  const queries = useQueryClient();
  const params = { path: { skill_id: skill.id } };
  return (
    <ShareSection
      queryKey={["skill", skill.id, "shares"]}
      read={() => call(api.GET(PLACE, { params }))}
      write={(body) => call(api.PUT(PLACE, { params, body }))}
      scope={changeOfSkill(skill.id)}
      onSaved={() => queries.invalidateQueries({ queryKey: ["skill", skill.id], exact: true })}
      lead={t("shares.lead")}
    />
  );
}
