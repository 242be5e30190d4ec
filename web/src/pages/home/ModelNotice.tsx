/** The notice that no language model is configured, with the way to add one. */
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { api, call } from "@/api/client";
import { isLanguageModel } from "@/api/models";
import { LinkButton } from "@/components/Button";
import { Notice } from "@/components/feedback/Notice";

export function ModelNotice() {
  const { t } = useTranslation("home");
  const may = useMay();
  const models = useQuery({ queryKey: ["models"], queryFn: () => call(api.GET("/api/v1/models")) });
  if (!models.data || models.data.items.some(isLanguageModel)) return null;
  const action = may("models:manage") ? (
    <LinkButton to="/models" search={{ add: true }} variant="primary">
      {t("no_model.add")}
    </LinkButton>
  ) : undefined;
  return (
    <Notice tone="warning" action={action}>
      <strong>{t("no_model.title")}</strong> {t(may("models:manage") ? "no_model.hint" : "no_model.ask_admin")}
    </Notice>
  );
}
