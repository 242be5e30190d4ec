/** Says that no language model is connected, and where to connect one. */
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { LinkButton } from "@/components/Button";
import { Notice } from "@/components/feedback/Notice";
import { useIsOffline } from "./composer/choices";

export function OfflineNotice() {
  const { t } = useTranslation("chat");
  const may = useMay();
  const isOffline = useIsOffline();
  if (!isOffline) return null;
  return (
    <Notice
      action={
        may("models:manage") && (
          <LinkButton to="/models" size="s">
            {t("offline.connect")}
          </LinkButton>
        )
      }
    >
      {t("offline.text")}
    </Notice>
  );
}
