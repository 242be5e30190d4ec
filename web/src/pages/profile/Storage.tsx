/** How much of one's quota of files is used. */
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api, call } from "@/api/client";
import { ProgressBar } from "@/components/feedback/Badge";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import styles from "@/components/forms/Form.module.css";
import { Facts } from "@/components/layout/ItemList";
import { Card, Section, Skeleton } from "@/components/layout/Page";
import { formatBytes, formatNumber } from "@/i18n/format";

export function Storage() {
  const { t } = useTranslation("profile");
  const { data, error, refetch } = useQuery({
    queryKey: ["storage"],
    queryFn: () => call(api.GET("/api/v1/users/me/storage")),
  });
  return (
    <Section title={t("storage.title")}>
      {error && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={2} />}
      {data && (
        <Card>
          <div className={styles.form}>
            {data.limit_bytes !== null && (
              <ProgressBar value={Math.min(1, data.used_bytes / data.limit_bytes)} label={t("storage.title")} />
            )}
            <Facts
              facts={[
                [t("storage.used"), formatBytes(data.used_bytes)],
                [t("storage.limit"), data.limit_bytes === null ? t("storage.no_limit") : formatBytes(data.limit_bytes)],
                [t("storage.documents"), formatNumber(data.documents)],
                [t("storage.images"), formatBytes(data.image_bytes)],
              ]}
            />
          </div>
        </Card>
      )}
    </Section>
  );
}
