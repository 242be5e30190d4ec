/** With whom a knowledge base is shared. */
import { useTranslation } from "react-i18next";
import { api, call } from "@/api/client";
import { Notice } from "@/components/feedback/Notice";
import { ShareSection } from "@/components/sharing/ShareSection";

const PLACE = "/api/v1/knowledge-bases/{kb_id}/shares";

export function ShareSettings({ kbId, isPublic }: { kbId: string; isPublic: boolean }) {
  const { t } = useTranslation("knowledge");
  const params = { path: { kb_id: kbId } };
  return (
    <ShareSection
      queryKey={["knowledge-base", kbId, "shares"]}
      read={() => call(api.GET(PLACE, { params }))}
      write={(body) => call(api.PUT(PLACE, { params, body }))}
      lead={t("settings.shares_hint")}
    >
      {isPublic && <Notice>{t("settings.shares_public")}</Notice>}
    </ShareSection>
  );
}
