/** An API key in a list, with a question before it is revoked. */
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { Badge } from "@/components/feedback/Badge";
import { Item } from "@/components/layout/ItemList";
import { ConfirmDialog } from "@/components/overlays/Dialog";
import { formatDateTime, formatRelative } from "@/i18n/format";
import { usePermissionName } from "@/pages/admin/permissionNames";

export function ApiKeyItem({
  apiKey,
  onRevoke,
}: {
  apiKey: Schemas["ApiKeyAnswer"];
  onRevoke: () => Promise<unknown>;
}) {
  const { t } = useTranslation("profile");
  const permissionName = usePermissionName();
  const [asks, setAsks] = useState(false);
  const hasEnded = apiKey.expires_at !== null && Date.parse(apiKey.expires_at) < Date.now();
  return (
    <Item
      title={apiKey.name}
      badges={hasEnded && <Badge tone="danger">{t("key.ended")}</Badge>}
      facts={[
        [t("key.prefix"), <code key="prefix">{`${apiKey.key_prefix}…`}</code>],
        [t("key.scopes"), apiKey.scopes ? apiKey.scopes.map(permissionName).join(", ") : t("key.all")],
        [t("key.ends"), apiKey.expires_at ? formatDateTime(apiKey.expires_at) : t("key.never_ends")],
        [t("key.used"), apiKey.last_used_at ? formatRelative(apiKey.last_used_at) : t("key.never_used")],
        [t("key.made"), formatRelative(apiKey.created_at)],
      ]}
      actions={
        <Button size="s" onClick={() => setAsks(true)} aria-label={t("key.revoke_name", { name: apiKey.name })}>
          {t("key.revoke")}
        </Button>
      }
    >
      <ConfirmDialog
        open={asks}
        onClose={() => setAsks(false)}
        title={t("key.revoke_title", { name: apiKey.name })}
        description={t("key.revoke_text")}
        action={t("key.revoke")}
        onConfirm={onRevoke}
      />
    </Item>
  );
}
