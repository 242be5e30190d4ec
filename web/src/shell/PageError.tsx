/** What stands where a page should: it does not exist, or failed. */
import { type ErrorComponentProps, useRouter } from "@tanstack/react-router";
import { FileQuestion } from "lucide-react";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { useConnection } from "@/api/connection";
import { unreachable } from "@/api/errors";
import { LinkButton } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { EmptyState } from "@/components/feedback/Notice";
import { Page } from "@/components/layout/Page";

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
  const isReachable = useConnection() === "fine";
  const [wasReachable] = useState(isReachable);
  useEffect(() => {
    // The page's own files did not come; now they do.
    if (isReachable && !wasReachable) window.location.reload();
  }, [isReachable, wasReachable]);
  return (
    <Page title={t("error.title")}>
      <ErrorNotice error={wasReachable ? error : unreachable(error)} onRetry={() => router.invalidate()} />
    </Page>
  );
}
