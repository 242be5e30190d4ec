/** The address at which calendar programs read one's events. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { api, call, callEmpty } from "@/api/client";
import { ApiError } from "@/api/errors";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { useErrorToast } from "@/components/feedback/toasts";
import { CopyField } from "@/components/forms/CopyField";
import styles from "@/components/forms/Form.module.css";
import { Card, Section, Skeleton } from "@/components/layout/Page";
import { ConfirmDialog } from "@/components/overlays/Dialog";
import { formatDateTime } from "@/i18n/format";

const NO_FEED = 40461;

async function fetchFeed() {
  try {
    return await call(api.GET("/api/v1/calendar/feed"));
  } catch (error) {
    if (error instanceof ApiError && error.code === NO_FEED) return null;
    throw error;
  }
}

export function CalendarFeed() {
  const { t } = useTranslation("profile");
  const feed = useQuery({ queryKey: ["calendar-feed"], queryFn: fetchFeed });
  return (
    <Section title={t("feed.title")}>
      {feed.error && <ErrorNotice error={feed.error} onRetry={() => void feed.refetch()} />}
      {feed.isPending && <Skeleton lines={2} />}
      {feed.data !== undefined && (
        <Card>
          <Feed since={feed.data?.created_at ?? null} />
        </Card>
      )}
    </Section>
  );
}

function Feed({ since }: { since: string | null }) {
  const { t } = useTranslation("profile");
  const writes = useMay()("calendar:write");
  const queries = useQueryClient();
  const fail = useErrorToast();
  const [address, setAddress] = useState<string | null>(null);
  const [asks, setAsks] = useState<"renew" | "revoke" | null>(null);
  async function make() {
    const made = await call(api.POST("/api/v1/calendar/feed"));
    setAddress(new URL(made.url, window.location.origin).href);
    await queries.invalidateQueries({ queryKey: ["calendar-feed"] });
  }
  async function revoke() {
    await callEmpty(api.DELETE("/api/v1/calendar/feed"));
    setAddress(null);
    await queries.invalidateQueries({ queryKey: ["calendar-feed"] });
  }
  return (
    <div className={styles.form}>
      <p>{since ? t("feed.since", { time: formatDateTime(since) }) : t("feed.none")}</p>
      {address && <CopyField label={t("feed.address")} hint={t("feed.once")} value={address} />}
      {writes && (
        <div className={styles.filters}>
          {since ? (
            <>
              <Button onClick={() => setAsks("renew")}>{t("feed.renew")}</Button>
              <Button onClick={() => setAsks("revoke")}>{t("feed.revoke")}</Button>
            </>
          ) : (
            <Button onClick={() => make().catch(fail)}>{t("feed.make")}</Button>
          )}
        </div>
      )}
      <ConfirmDialog
        open={asks !== null}
        onClose={() => setAsks(null)}
        title={t(asks === "revoke" ? "feed.revoke_title" : "feed.renew_title")}
        description={t("feed.ends")}
        action={t(asks === "revoke" ? "feed.revoke" : "feed.renew")}
        onConfirm={asks === "revoke" ? revoke : make}
      />
    </div>
  );
}
