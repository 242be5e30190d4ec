/** Where authorization servers send people back to: completes the authorisation and opens its connection. */
import { useQuery } from "@tanstack/react-query";
import { Link, Navigate } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, call } from "@/api/client";
import { ApiError } from "@/api/errors";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Page, Skeleton } from "@/components/layout/Page";
import { callbackAnswer } from "./callbackAnswer";
import { useInvalidateConnections } from "./connectionQueries";

export function AuthorizationCallback(): ReactElement {
  const { t } = useTranslation("connections");
  const [answer] = useState(callbackAnswer);
  const invalidate = useInvalidateConnections();
  // Sent once: it does not work a second time.
  const { data, error } = useQuery({
    queryKey: ["mcp-callback", answer.state],
    queryFn: async () => {
      const connection = await call(api.POST("/api/v1/mcp/oauth/callback", { body: answer }));
      await invalidate();
      return connection;
    },
    retry: false,
    retryOnMount: false,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const failed = error instanceof ApiError ? error.details.connection_id : undefined;
  if (data) return <Navigate to="/connections/$connectionId" params={{ connectionId: data.id }} replace />;
  return (
    <Page title={t("oauth.callback")}>
      {!error && <Skeleton lines={3} />}
      {error && (
        <>
          <ErrorNotice error={error} />
          <p>
            {typeof failed === "string" ? (
              <Link to="/connections/$connectionId" params={{ connectionId: failed }}>
                {t("oauth.back")}
              </Link>
            ) : (
              <Link to="/connections">{t("oauth.to_connections")}</Link>
            )}
          </p>
        </>
      )}
    </Page>
  );
}
