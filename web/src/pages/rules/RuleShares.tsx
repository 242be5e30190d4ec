/** With whom a rule is shared. */
import { useTranslation } from "react-i18next";
import { api, call } from "@/api/client";
import { ShareSection } from "@/components/sharing/ShareSection";
import { useRuleId } from "./ruleQueries";

const PLACE = "/api/v1/rules/{rule_id}/shares";

export function RuleShares() {
  const { t } = useTranslation("rules");
  const id = useRuleId();
  const params = { path: { rule_id: id } };
  return (
    <ShareSection
      queryKey={["rules", id, "shares"]}
      read={() => call(api.GET(PLACE, { params }))}
      write={(body) => call(api.PUT(PLACE, { params, body }))}
      lead={t("shares.lead")}
      writeLabel={t("shares.write")}
    />
  );
}
