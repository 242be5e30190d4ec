/** A dialog with the API keys of an account. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api, call, callEmpty } from "@/api/client";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { ItemList } from "@/components/layout/ItemList";
import { Skeleton } from "@/components/layout/Page";
import { Dialog } from "@/components/overlays/Dialog";
import { ApiKeyItem } from "@/pages/profile/ApiKeyItem";
import type { User } from "./userQueries";

export function UserKeys({ user, onClose }: { user: User; onClose: () => void }) {
  const { t } = useTranslation("admin");
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery({
    queryKey: ["users", user.id, "api-keys"],
    queryFn: () =>
      call(
        api.GET("/api/v1/admin/users/{user_id}/api-keys", {
          params: { path: { user_id: user.id }, query: { page_size: 100 } },
        }),
      ),
  });
  async function revoke(id: string) {
    const params = { path: { user_id: user.id, key_id: id } };
    await callEmpty(api.DELETE("/api/v1/admin/users/{user_id}/api-keys/{key_id}", { params }));
    await queries.invalidateQueries({ queryKey: ["users", user.id, "api-keys"] });
  }
  return (
    <Dialog open wide onClose={onClose} title={t("user.keys_of", { name: user.username })}>
      {error && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={3} />}
      {data?.items.length === 0 && <p>{t("user.no_keys")}</p>}
      {data && data.items.length > 0 && (
        <ItemList label={t("user.keys")}>
          {data.items.map((key) => (
            <ApiKeyItem key={key.id} apiKey={key} onRevoke={() => revoke(key.id)} />
          ))}
        </ItemList>
      )}
    </Dialog>
  );
}
