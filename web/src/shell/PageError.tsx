/** What stands where a page should: it does not exist, or failed. */
import { type ErrorComponentProps, useRouter } from "@tanstack/react-router";
import { FileQuestion } from "lucide-react";
import { useTranslation } from "react-i18next";
import { LinkButton } from "@/components/Button";
import { ErrorNotice } from "@/components/ErrorNotice";
import { EmptyState } from "@/components/Notice";
import { Page } from "@/components/Page";

export function PageNotFound() {
  const { t } = useTranslation();
  return (
    <EmptyState icon={FileQuestion} title={t("error.no_page")} action={<LinkButton to="/">{t("nav.home")}</LinkButton>}>
      {t("error.no_page_hint")}
    </EmptyState>
  );
}

export function PageError({ error }: ErrorComponentProps) {
  const { t } = useTranslation();
  const router = useRouter();
  return (
    <Page title={t("error.title")}>
      <ErrorNotice error={error} onRetry={() => router.invalidate()} />
    </Page>
  );
}
