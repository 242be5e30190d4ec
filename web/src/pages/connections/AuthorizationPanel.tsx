/** Whether the owner has authorised a connection with OAuth, and how they do so or end it. */
import { useMutation } from "@tanstack/react-query";
import { KeyRound, LogOut } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { api, call } from "@/api/client";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Notice } from "@/components/feedback/Notice";
import { Facts } from "@/components/layout/ItemList";
import { Section } from "@/components/layout/Page";
import { ConfirmDialog } from "@/components/overlays/Dialog";
import { formatDateTime } from "@/i18n/format";
import { type McpConnection, useInvalidateConnections } from "./connectionQueries";

export function AuthorizationPanel({ connection }: { connection: McpConnection }) {
  const { t } = useTranslation("connections");
  const may = useMay()("mcp:create");
  const [ends, setEnds] = useState(false);
  const invalidate = useInvalidateConnections();
  const params = { path: { connection_id: connection.id } };
  const begin = useMutation({
    mutationFn: () => call(api.POST("/api/v1/mcp/connections/{connection_id}/authorize", { params })),
    onSuccess: ({ authorization_url }) => window.location.assign(authorization_url),
  });
  const { authorization, status } = connection;
  if (connection.auth_type !== "oauth" && status !== "needs_authorization") return null;
  async function end() {
    await call(api.DELETE("/api/v1/mcp/connections/{connection_id}/authorization", { params }));
    await invalidate();
  }
  return (
    <Section
      title={t("oauth.title")}
      actions={
        may && (
          <>
            <Button
              variant={status === "needs_authorization" ? "primary" : "secondary"}
              icon={KeyRound}
              busy={begin.isPending}
              onClick={() => begin.mutate()}
            >
              {t(authorization ? "oauth.again" : "oauth.authorise")}
            </Button>
            {authorization && (
              <Button icon={LogOut} onClick={() => setEnds(true)}>
                {t("oauth.end")}
              </Button>
            )}
          </>
        )
      }
    >
      {status === "needs_authorization" && <Notice tone="warning">{t(may ? "oauth.needed" : "oauth.ask")}</Notice>}
      {authorization && (
        <Facts
          facts={[
            [t("oauth.issuer"), authorization.issuer],
            [t("oauth.scope"), authorization.scope],
            [t("oauth.since"), formatDateTime(authorization.authorized_at)],
          ]}
        />
      )}
      {begin.error && <ErrorNotice error={begin.error} />}
      <ConfirmDialog
        open={ends}
        onClose={() => setEnds(false)}
        title={t("oauth.end_title", { name: connection.name })}
        description={t("oauth.end_text")}
        action={t("oauth.end")}
        onConfirm={end}
      />
    </Section>
  );
}
