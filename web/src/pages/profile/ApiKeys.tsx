/** One's own API keys. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, call, callEmpty } from "@/api/client";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import styles from "@/components/forms/Form.module.css";
import { ItemList } from "@/components/layout/ItemList";
import { Section, Skeleton } from "@/components/layout/Page";
import { ApiKeyForm } from "./ApiKeyForm";
import { ApiKeyItem } from "./ApiKeyItem";

/** An account has at most that many. */
const MOST_KEYS = 100;

export function ApiKeys({ permissions }: { permissions: string[] }) {
  const { t } = useTranslation("profile");
  const [isOpen, setOpen] = useState(false);
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery({
    queryKey: ["api-keys"],
    queryFn: () => call(api.GET("/api/v1/users/me/api-keys", { params: { query: { page_size: MOST_KEYS } } })),
  });
  async function revoke(id: string) {
    await callEmpty(api.DELETE("/api/v1/users/me/api-keys/{key_id}", { params: { path: { key_id: id } } }));
    await queries.invalidateQueries({ queryKey: ["api-keys"] });
  }
  return (
    <Section
      title={t("key.title")}
      actions={
        <Button icon={Plus} onClick={() => setOpen(true)}>
          {t("key.add")}
        </Button>
      }
    >
      <p className={styles.hint}>{t("key.hint")}</p>
      {error && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={2} />}
      {data?.items.length === 0 && <p className={styles.hint}>{t("key.none")}</p>}
      {data && data.items.length > 0 && (
        <ItemList label={t("key.title")}>
          {data.items.map((key) => (
            <ApiKeyItem key={key.id} apiKey={key} onRevoke={() => revoke(key.id)} />
          ))}
        </ItemList>
      )}
      {isOpen && <ApiKeyForm permissions={permissions} onClose={() => setOpen(false)} />}
    </Section>
  );
}
